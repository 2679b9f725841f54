from django.urls import path

from feedback.audit import views as audit_pages
from feedback.batches import views as batch_views
from feedback.channels.github import webhook as github_webhook
from feedback.channels.gitlab import webhook as gitlab_webhook
from feedback.desk import remarks, steering
from feedback.desk import views as desk_views
from feedback.desk.code import views as code_views
from feedback.doctor import proxy
from feedback.doctor import views as doctor_views
from feedback.inbox import views
from feedback.notices import views as notice_views
from feedback.rules import views as rule_views
from feedback.webhooks import views as webhook_views

urlpatterns = [
    path("github/webhook", github_webhook.receive, name="github-webhook"),
    path("gitlab/webhook", gitlab_webhook.receive, name="gitlab-webhook"),
    path("", views.inbox, name="inbox"),
    path("waiting/", views.waiting, name="waiting"),
    path("requests/<slug:request_id>/", desk_views.request_page, name="request"),
    path("requests/<slug:request_id>/draft/", desk_views.draft, name="draft"),
    path("requests/<slug:request_id>/held/", desk_views.held, name="held"),
    path("requests/<slug:request_id>/undo/", desk_views.undo, name="undo"),
    path("requests/<slug:request_id>/go-now/", desk_views.go_now, name="go-now"),
    path("requests/<slug:request_id>/ask/", steering.ask, name="ask-agent"),
    path("requests/<slug:request_id>/delegate/", steering.delegate, name="delegate"),
    path("requests/<slug:request_id>/override/", steering.override, name="override"),
    path("requests/<slug:request_id>/remarks/", remarks.remarks, name="remarks"),
    path("requests/<slug:request_id>/remarks/<int:pk>/", remarks.remark, name="remark"),
    path(
        "requests/<slug:request_id>/remarks/<int:pk>/remove/",
        remarks.remove,
        name="remark-remove",
    ),
    path(
        "requests/<slug:request_id>/artifacts/<int:revision>/<path:path>",
        desk_views.artifact,
        name="artifact",
    ),
    path("requests/<slug:request_id>/viewed/", code_views.view_file, name="view-file"),
    path(
        "requests/<slug:request_id>/changes/<str:since>/<str:side>/<str:part>",
        code_views.image,
        name="changed-image",
    ),
    path("webhooks/", webhook_views.webhook_list, name="webhooks"),
    path("webhooks/<slug:endpoint_id>/", webhook_views.webhook_page, name="webhook"),
    path(
        "webhooks/<slug:endpoint_id>/rotate/", webhook_views.webhook_rotate, name="webhook-rotate"
    ),
    path(
        "webhooks/<slug:endpoint_id>/remove/", webhook_views.webhook_remove, name="webhook-remove"
    ),
    path(
        "webhooks/deliveries/<slug:delivery_id>/redeliver/",
        webhook_views.webhook_redeliver,
        name="webhook-redeliver",
    ),
    path("account/notices/", notice_views.notices, name="notices"),
    path("account/notices/test/", notice_views.test, name="notices-test"),
    path("account/notices/newest/", notice_views.newest, name="notices-newest"),
    path("rules/", rule_views.rule_list, name="rules"),
    path("rules/make/", rule_views.rule_make, name="rule-make"),
    path("rules/switch/", rule_views.rule_switch, name="rule-switch"),
    path("rules/<int:rule_pk>/", rule_views.rule_change, name="rule-change"),
    path("audit/", audit_pages.audit, name="audit"),
    path("doctor/", doctor_views.doctor, name="doctor"),
    path("doctor/proxy/<str:token>/", proxy.proxy_check, name="proxy-check"),
    path("audit.csv", audit_pages.audit_csv, name="audit-csv"),
    path("statistics/", audit_pages.statistics_page, name="statistics"),
    path("costs/", audit_pages.costs_page, name="costs"),
    path("batches/", batch_views.selection_page, name="selection"),
    path("batches/draft/", batch_views.draft_of_selection, name="selection-draft"),
    path("batches/paste/", batch_views.paste_for_selection, name="selection-paste"),
    path("batches/prompt/", batch_views.prompt_of_selection, name="selection-prompt"),
    path("batches/peek/<slug:request_id>/", batch_views.peek_in_selection, name="selection-peek"),
    path("batches/<slug:batch_id>/", batch_views.batch_page, name="batch"),
    path("batches/<slug:batch_id>/draft/", batch_views.draft, name="batch-draft"),
    path("batches/<slug:batch_id>/paste/", batch_views.paste, name="batch-paste"),
    path("batches/<slug:batch_id>/prompt/", batch_views.prompt, name="batch-prompt"),
    path("batches/<slug:batch_id>/peek/<slug:request_id>/", batch_views.peek, name="batch-peek"),
]
