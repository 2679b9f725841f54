"""The rows behind runs, to look at and never to change: the record is only ever added to."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django_q.models import Failure, OrmQ, Schedule, Success

from runs.domain.responses import usage
from runs.models import ContextPackage, Event, Project, Run, StepAttempt
from runs.pages.projects.forms import ProjectForm
from runs.pages.sign_in.views import PatientAdminForm

admin.site.login_form = PatientAdminForm
admin.site.site_header = admin.site.site_title = "FABER admin"
admin.site.index_title = "Records"

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

    def page_of(self, row: Any) -> str:
        """Where the site itself shows a row; each kind says it."""
        raise NotImplementedError

    def view_on_site(self, row: Any) -> str:
        return self.page_of(row)

    @admin.display(description="page")
    def page(self, row: Any) -> SafeString:
        return format_html('<a href="{}">Open</a>', self.page_of(row))


class OfARunAdmin(ReadOnlyAdmin):
    """Rows that name their run, without fetching what the run was started with."""

    raw_id_fields = ["run"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).select_related("run")
        return rows.defer("run__plan", "run__environment", "run__inputs", "run__approvals")

    def page_of(self, row: Any) -> str:
        return reverse("run", args=[row.run.run_id])


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ["name", "page", "workspace", "started", "created_at"]
    search_fields = ["name", "workspace"]
    date_hierarchy = "created_at"
    ordering = ["name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        projects: QuerySet[Project] = super().get_queryset(request)
        return projects.annotate(started=Count("runs"))

    @admin.display(description="runs", ordering="started")
    def started(self, project: Any) -> int:
        return int(project.started)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any
    ) -> Any:
        """Settings are called here what the project's own page calls them."""
        known = ProjectForm.base_fields.items()
        labels = {name: field.label for name, field in known}
        help_texts = {name: field.help_text for name, field in known}
        return super().get_form(
            request, obj, change, labels=labels, help_texts=help_texts, **options
        )

    def page_of(self, row: Project) -> str:
        return f"{reverse('runs')}?{urlencode({'project': row.name})}"


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = [
        *("run_id", "page", "work_id", "workflow_id", "status", "started_by"),
        *("created_at", "completed_at"),
    ]
    list_filter = ["status", "project", "workflow_id", "autonomy", "created_at"]
    search_fields = ["run_id", "work_id", "workflow_id", "started_by"]
    date_hierarchy = "created_at"
    raw_id_fields = ["project", "started_by_user", "rerun_of"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).defer("plan", "environment", "inputs")

    def page_of(self, row: Run) -> str:
        return reverse("run", args=[row.run_id])


@admin.register(StepAttempt)
class StepAttemptAdmin(OfARunAdmin):
    list_display = [
        *("run", "page", "phase", "step", "number", "action", "status", "result"),
        *("cost", "started_at"),
    ]
    list_filter = ["status", "result", "phase", "is_hook", "is_remote", "started_at"]
    search_fields = ["run__run_id", "step", "worker", "session"]
    date_hierarchy = "started_at"

    @admin.display(description="cost")
    def cost(self, attempt: StepAttempt) -> str:
        return usage.spoken(attempt.usage)

    def page_of(self, row: StepAttempt) -> str:
        return reverse("run-output", args=[row.run.run_id, row.pk])


@admin.register(ContextPackage)
class ContextPackageAdmin(OfARunAdmin):
    list_display = ["run", "page", "attempt", "digest", "created_at"]
    list_filter = ["created_at"]
    search_fields = ["run__run_id", "digest"]
    date_hierarchy = "created_at"
    raw_id_fields = ["run", "attempt"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ContextPackage]:
        packages: QuerySet[ContextPackage] = super().get_queryset(request)
        earlier = ContextPackage.objects.filter(run=OuterRef("run"), pk__lte=OuterRef("pk"))
        counted = earlier.order_by().values("run").annotate(count=Count("pk")).values("count")
        return packages.select_related("attempt").annotate(number=Subquery(counted))

    def page_of(self, row: Any) -> str:
        return reverse("run-package", args=[row.run.run_id, row.number])


@admin.register(Event)
class EventAdmin(OfARunAdmin):
    list_display = ["run", "page", "number", "type", "phase", "step", "timestamp"]
    list_filter = ["phase", "timestamp"]
    search_fields = ["run__run_id", "type", "step"]
    date_hierarchy = "timestamp"
