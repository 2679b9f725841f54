"""Where django-allauth sends people who were not signed in; its own pages lead to others of its."""

from allauth.socialaccount.views import connections
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import include, path


def turned_away(request: HttpRequest, heading: str, sentence: str) -> HttpResponse:
    context = {"heading": heading, "sentence": sentence}
    return render(request, "registration/turned_away.html", context, status=403)


@login_not_required
def no_sign_up(request: HttpRequest) -> HttpResponse:
    return turned_away(
        request,
        "You can't sign up here",
        "Ask an administrator for an account, sign in, then link your GitHub login to it.",
    )


@login_not_required
def cancelled(request: HttpRequest) -> HttpResponse:
    return render(request, "socialaccount/login_cancelled.html")


@login_not_required
def failed(request: HttpRequest) -> HttpResponse:
    return render(request, "socialaccount/authentication_error.html", status=401)


urlpatterns = [
    path("signup/", no_sign_up, name="socialaccount_signup"),
    path("login/cancelled/", cancelled, name="socialaccount_login_cancelled"),
    path("login/error/", failed, name="socialaccount_login_error"),
    path("", connections, name="socialaccount_connections"),
    path("", include("allauth.socialaccount.providers.github.urls")),
]
