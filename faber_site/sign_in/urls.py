"""The addresses of signing in through others; those of each provider only where it is set up."""

from allauth.socialaccount.views import connections
from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from faber_site.sign_in import oidc, pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("signup/", pages.no_sign_up, name="socialaccount_signup"),
    path("login/cancelled/", pages.cancelled, name="socialaccount_login_cancelled"),
    path("login/error/", pages.failed, name="socialaccount_login_error"),
    path("", connections, name="socialaccount_connections"),
]
if settings.FABER_GITHUB_CLIENT_ID:
    urlpatterns += [path("", include("allauth.socialaccount.providers.github.urls"))]
if settings.FABER_OIDC_ISSUER:
    urlpatterns += [
        path("oidc/login/", oidc.login, name="openid_connect_login"),
        path("oidc/login/callback/", oidc.callback, name="openid_connect_callback"),
    ]
