"""The rows behind runs, to look at and never to change: the record is only ever added to."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django_q.models import Failure, OrmQ, Schedule, Success

from runs.models import Event, Project, Run, StepAttempt

# Their pages unpickle what is in the queue: whoever could write there could run code here.
for unpickled in (Failure, OrmQ, Schedule, Success):
    if admin.site.is_registered(unpickled):
        admin.site.unregister(unpickled)

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(_ModelAdmin):
    """Staff see everything; nobody adds, changes or deletes."""

    show_full_result_count = False
    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.is_active and request.user.is_staff

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class OfARunAdmin(ReadOnlyAdmin):
    """Rows that name their run, without fetching what the run was started with."""

    raw_id_fields = ["run"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).select_related("run")
        return rows.defer("run__plan", "run__environment", "run__inputs", "run__approvals")


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ["name", "workspace", "created_at"]
    search_fields = ["name", "workspace"]
    ordering = ["name"]


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ["run_id", "work_id", "workflow_id", "status", "started_by", "created_at"]
    list_filter = ["status", "autonomy", "created_at"]
    search_fields = ["run_id", "work_id", "workflow_id", "started_by"]
    raw_id_fields = ["project", "started_by_user", "rerun_of"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).defer("plan", "environment", "inputs")


@admin.register(StepAttempt)
class StepAttemptAdmin(OfARunAdmin):
    list_display = ["run", "phase", "step", "number", "action", "status", "result", "started_at"]
    list_filter = ["status", "result", "phase", "is_hook", "is_remote"]
    search_fields = ["run__run_id", "step", "worker"]


@admin.register(Event)
class EventAdmin(OfARunAdmin):
    list_display = ["run", "number", "type", "phase", "step", "timestamp"]
    list_filter = ["phase", "timestamp"]
    search_fields = ["run__run_id", "type", "step"]
