from django.urls import path

from feedback import audit_pages, batch_views, desk_views, doctor_views, remark_views, views
from feedback.github import webhook

urlpatterns = [
    path("github/webhook", webhook.receive, name="github-webhook"),
    path("", views.inbox, name="inbox"),
    path("requests/<slug:request_id>/", desk_views.request_page, name="request"),
    path("requests/<slug:request_id>/draft/", desk_views.save_draft, name="draft"),
    path("requests/<slug:request_id>/held/", desk_views.held, name="held"),
    path("requests/<slug:request_id>/undo/", desk_views.undo, name="undo"),
    path("requests/<slug:request_id>/go-now/", desk_views.go_now, name="go-now"),
    path("requests/<slug:request_id>/remarks/", remark_views.remarks, name="remarks"),
    path("requests/<slug:request_id>/remarks/<int:pk>/", remark_views.remark, name="remark"),
    path(
        "requests/<slug:request_id>/remarks/<int:pk>/remove/",
        remark_views.remove,
        name="remark-remove",
    ),
    path(
        "requests/<slug:request_id>/artifacts/<int:revision>/<path:path>",
        desk_views.artifact,
        name="artifact",
    ),
    path("audit/", audit_pages.audit, name="audit"),
    path("doctor/", doctor_views.doctor, name="doctor"),
    path("audit.csv", audit_pages.audit_csv, name="audit-csv"),
    path("statistics/", audit_pages.statistics_page, name="statistics"),
    path("batches/<slug:batch_id>/", batch_views.batch_page, name="batch"),
    path("batches/<slug:batch_id>/paste/", batch_views.paste, name="batch-paste"),
    path("batches/<slug:batch_id>/prompt/", batch_views.prompt, name="batch-prompt"),
    path("batches/<slug:batch_id>/peek/<slug:request_id>/", batch_views.peek, name="batch-peek"),
]
