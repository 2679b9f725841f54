from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from faber_site import api
from faber_site.favicon import counting_favicon, favicon
from faber_site.metrics import metrics
from faber_site.schemas import skill_response
from faber_site.theme import theme
from feedback.mcp.http_transport import mcp

urlpatterns = [
    path("", include("feedback.urls")),
    path("", include("runs.urls")),
    path("api/v1/", api.urls),
    path("mcp", mcp),
    path("admin/", admin.site.urls),
    path("theme/", theme, name="theme"),
    path("favicon.ico", favicon),
    path("favicon/<int:count>.svg", counting_favicon, name="favicon"),
    path("metrics", metrics),
    path("schemas/skill-response.json", skill_response, name="skill-response-schema"),
]
if settings.FABER_GITHUB_CLIENT_ID:
    urlpatterns += [
        path("accounts/", include("faber_site.github.pages")),
    ]
