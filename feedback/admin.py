"""Requests and responses, to look at and never to change."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from feedback.models import (
    Callback,
    Delivery,
    FeedbackRequest,
    FeedbackResponse,
    InboundComment,
    Notice,
)
from runs.admin import OfARunAdmin, ReadOnlyAdmin

if TYPE_CHECKING:
    _Inline = admin.TabularInline[Any, Any]
else:
    _Inline = admin.TabularInline


class ResponseInline(_Inline):
    model = FeedbackResponse
    fields = ["response", "action", "comment", "decides", "state", "identity", "received_at"]
    can_delete = False
    extra = 0

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.is_active and request.user.is_staff

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(FeedbackRequest)
class FeedbackRequestAdmin(OfARunAdmin):
    list_display = [
        *("request_id", "page", "run", "type", "status", "phase", "step"),
        *("steps_behind", "requested_at"),
    ]
    list_filter = ["status", "type", "gate", "phase", "requested_at"]
    search_fields = ["request_id", "run__run_id", "prompt"]
    date_hierarchy = "requested_at"
    exclude = ["artifacts"]
    readonly_fields = ["revisions"]
    inlines = [ResponseInline]

    @admin.display(description="artifacts")
    def revisions(self, asked: FeedbackRequest) -> str:
        # By hand, because the field itself would fetch the content of every file.
        return ", ".join(str(artifact) for artifact in asked.artifacts.defer("content"))

    def page_of(self, row: FeedbackRequest) -> str:
        return reverse("request", args=[row.request_id])


@admin.register(FeedbackResponse)
class FeedbackResponseAdmin(ReadOnlyAdmin):
    list_display = [
        *("request", "page", "response", "action", "who", "source", "decides"),
        *("state", "received_at"),
    ]
    list_filter = ["action", "state", "decides", "request__type", "received_at"]
    search_fields = ["request__request_id", "response", "comment", "identity"]
    date_hierarchy = "received_at"
    raw_id_fields = ["request", "user"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[FeedbackResponse]:
        return super().get_queryset(request).select_related("request")

    def page_of(self, row: FeedbackResponse) -> str:
        return reverse("request", args=[row.request.request_id])


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ["mark", "kind", "repository", "issue", "is_due", "attempts", "last_error"]
    list_filter = ["kind", "is_due", "repository"]
    search_fields = ["mark", "repository"]
    raw_id_fields = ["request", "run", "reply_to"]
    ordering = ["-id"]

    def page_of(self, row: Delivery) -> str:
        return row.comment_url


@admin.register(Callback)
class CallbackAdmin(ReadOnlyAdmin):
    list_display = ["request", "page", "url", "is_due", "delivered_at", "attempts", "last_error"]
    list_filter = ["is_due", "delivered_at"]
    search_fields = ["request__request_id", "url"]
    raw_id_fields = ["request", "token"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Callback]:
        return super().get_queryset(request).select_related("request")

    def page_of(self, row: Callback) -> str:
        return reverse("request", args=[row.request.request_id])


@admin.register(InboundComment)
class InboundCommentAdmin(ReadOnlyAdmin):
    list_display = ["repository", "issue", "author", "state", "result", "heard_at"]
    list_filter = ["state", "repository", "heard_at"]
    search_fields = ["author", "body", "repository"]
    date_hierarchy = "heard_at"
    ordering = ["-id"]

    def page_of(self, row: InboundComment) -> str:
        return reverse("audit")


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    list_display = [
        *("announcement", "page", "told_to", "is_due", "sent_at", "attempts", "next_try_at"),
        "last_error",
    ]
    list_filter = ["announcement__kind", "service", "origin", "is_due", "sent_at"]
    search_fields = ["announcement__about", "user__username"]
    raw_id_fields = ["announcement", "user"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Notice]:
        about = ("announcement__request", "announcement__run")
        return super().get_queryset(request).select_related("user", *about)

    def page_of(self, row: Notice) -> str:
        about = row.announcement
        if about.request:
            return reverse("request", args=[about.request.request_id])
        return reverse("run", args=[about.run.run_id]) if about.run else reverse("doctor")
