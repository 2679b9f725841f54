from django.urls import path

from feedback import views

urlpatterns = [
    path("", views.inbox, name="inbox"),
    path("requests/<slug:request_id>/", views.request_page, name="request"),
    path(
        "requests/<slug:request_id>/artifacts/<int:revision>/<path:path>",
        views.artifact,
        name="artifact",
    ),
]
