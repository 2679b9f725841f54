from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from faber_site import api
from faber_site.documentation import views as docs
from faber_site.github_app import views as github_app
from faber_site.http.favicon import counting_favicon, favicon
from faber_site.http.schemas import skill_response
from faber_site.http.theme import theme
from faber_site.monitoring.metrics import metrics
from feedback.mcp.http_transport import mcp

admin.autodiscover()

urlpatterns = [
    path("", include("feedback.urls")),
    path("", include("runs.urls")),
    path("api/v1/", api.urls),
    path("mcp", mcp),
    path("admin/", admin.site.urls),
    path("docs/", docs.docs_index, name="docs"),
    path("docs/search/", docs.docs_search, name="docs-search"),
    path("docs/files/<path:path>", docs.docs_file, name="docs-file"),
    path("docs/<slug:name>/", docs.docs_page, name="docs-page"),
    path("github/setup", github_app.setup, name="github-setup"),
    path("github/setup/callback", github_app.callback, name="github-setup-callback"),
    path("theme/", theme, name="theme"),
    path("favicon.ico", favicon),
    path("favicon/<int:count>.svg", counting_favicon, name="favicon"),
    path("metrics", metrics),
    path("schemas/skill-response.json", skill_response, name="skill-response-schema"),
]
if settings.FABER_GITHUB_CLIENT_ID or settings.FABER_OIDC_ISSUER:
    urlpatterns += [path("accounts/", include("faber_site.sign_in.urls"))]
