from django.urls import path, register_converter
from django.urls.converters import StringConverter

from runs.domain.values.printed.first_error import STREAMS
from runs.pages import framed, guide
from runs.pages.lists import views as list_views
from runs.pages.projects import views as project_views
from runs.pages.run import context, views
from runs.pages.sign_in import sessions, stand_in, tokens
from runs.pages.sign_in import views as signing_in
from runs.pages.start import views as start_views


class RunIdConverter:
    """`org/project/uuid`: one name with slashes in it."""

    regex = r"[\w-]+/[\w-]+/[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

    def to_python(self, value: str) -> str:
        return value.lower()

    def to_url(self, value: str) -> str:
        return value


class ProjectConverter(StringConverter):
    """`org/name`: one name with a slash in it."""

    regex = r"[^/]+/[^/]+"


class StreamConverter(StringConverter):
    """One of the streams that a step prints to."""

    regex = "|".join(STREAMS)


register_converter(RunIdConverter, "run_id")
register_converter(ProjectConverter, "project")
register_converter(StreamConverter, "stream")

urlpatterns = [
    path("runs/", list_views.run_list, name="runs"),
    path("runs/<run_id:run_id>/", views.run_page, name="run"),
    path("runs/<run_id:run_id>/state.json", views.state, name="run-state"),
    path(
        "runs/<run_id:run_id>/artifacts/<int:revision>/<path:path>",
        views.artifact,
        name="run-artifact",
    ),
    path(
        "runs/<run_id:run_id>/pictures/<int:revision>/<path:path>",
        framed.picture,
        name="run-picture",
    ),
    path("runs/<run_id:run_id>/files/<int:revision>/<path:path>", views.file_page, name="run-file"),
    path("runs/<run_id:run_id>/attempts/<int:attempt_pk>/output", views.output, name="run-output"),
    path(
        "runs/<run_id:run_id>/attempts/<int:attempt_pk>/output/<stream:stream>.txt",
        views.output_file,
        name="run-output-file",
    ),
    path("runs/<run_id:run_id>/context/<int:number>/", context.package, name="run-package"),
    path(
        "runs/<run_id:run_id>/context/<int:number>.json",
        context.package_json,
        name="run-package-json",
    ),
    path("runs/<run_id:run_id>/cancel/", views.cancel, name="run-cancel"),
    path("runs/<run_id:run_id>/resume/", views.resume, name="run-resume"),
    path("runs/<run_id:run_id>/rerun/", views.rerun, name="run-rerun"),
    path("runs/<run_id:run_id>/worktree/remove/", views.remove_worktree, name="run-worktree"),
    path("projects/", project_views.project_list, name="projects"),
    path("projects/<project:name>/", project_views.project_page, name="project"),
    path("diagram/", framed.diagram, name="diagram"),
    path("start/", start_views.start, name="start"),
    path("guide/dismiss/", guide.dismiss, name="guide-dismiss"),
    path("login/", signing_in.sign_in, name="login"),
    path("admin/login/", signing_in.sign_in_to_admin),
    path("login/link/<str:token>/", signing_in.sign_in_by_link, name="login-link"),
    path("logout/", signing_in.sign_out, name="logout"),
    path("account/sessions/", sessions.session_list, name="sessions"),
    path("account/sessions/<int:pk>/end/", sessions.session_end, name="session-end"),
    path("account/sessions/others/end/", sessions.other_sessions_end, name="other-sessions-end"),
    path("account/stand-in/", stand_in.stand_in, name="stand-in"),
    path("account/stand-in/end/", stand_in.stand_in_end, name="stand-in-end"),
    path("account/tokens/", tokens.token_list, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", tokens.token_revoke, name="token-revoke"),
]
