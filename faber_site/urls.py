from django.contrib import admin
from django.urls import include, path

from faber_site.health import healthz, readyz

urlpatterns = [
    path("", include("feedback.urls")),
    path("", include("runs.urls")),
    path("admin/", admin.site.urls),
    path("healthz", healthz),
    path("readyz", readyz),
]
