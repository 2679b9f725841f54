"""Starts runs from issues: which project and workflow are meant, and never past a gate."""

from feedback.channels.markdown.commands import Command
from feedback.channels.trackers import channel
from feedback.models import InboundComment, InboundKind
from runs import engine
from runs.domain.values.actors import Actor
from runs.domain.values.errors import NotFound, Refused
from runs.domain.values.status import RunStatus
from runs.engine import starting, turns
from runs.engine.starting import Wish
from runs.models import Project, Run, tracked_at
from runs.worker import remote

_UNFINISHED = [status.value for status in RunStatus if not status.is_final]


def projects_at(heard: InboundComment) -> list[Project]:
    """The projects that this may start a run of, those that say what issues start first."""
    here = list(tracked_at(heard.place.tracker, heard.repository))
    if heard.kind == InboundKind.LABEL:
        return [each for each in here if is_label_of(each, heard.body)]
    return [each for each in here if each.start_workflow] or here


def is_label_of(project: Project, label: str) -> bool:
    """Whether this label starts runs of the project; trackers do not mind the case."""
    return bool(project.start_label) and project.start_label.casefold() == label.casefold()


def order_of(heard: InboundComment, command: Command, actor: Actor) -> engine.Start:
    """The run that is asked for, with every gate of its workflow."""
    project = _project(heard)
    workflow = command.workflow or project.start_workflow
    if not workflow:
        raise Refused(
            "This project does not say which workflow issues start. Name one: "
            "`@faber start WORKFLOW`, or set the project's start_workflow."
        )
    folder = project.folder or remote.own_folder(project.name)
    starting.load_for_issue(workflow, folder)
    wish = Wish(
        workflow=workflow,
        workspace=folder,
        project=project.name,
        work_id=heard.place.work_ids[0],
        prompt=command.feedback,
    )
    return starting.prepare(wish, actor)


def begin(heard: InboundComment, order: engine.Start) -> Run:
    """Start the run in the transaction that claimed its comment; its own comment is the reply."""
    project = turns.locked(order.project.pk)  # two labels at once see each other's run
    if heard.kind != InboundKind.COMMENT and (busy := _unfinished(project, order.work_id)):
        raise Refused(f"The run `{busy.run_id}` is still working on this issue.")
    run, _ = turns.start(order)
    channel.follow(run)
    return run


def _project(heard: InboundComment) -> Project:
    meant = projects_at(heard)
    if not meant:
        raise NotFound("No project of this site has this repository.")
    if len(meant) > 1:
        names = ", ".join(project.name for project in meant)
        raise Refused(f"More than one project has this repository: {names}.")
    return meant[0]


def _unfinished(project: Project, work_id: str) -> Run | None:
    runs = Run.objects.filter(project=project, work_id=work_id, status__in=_UNFINISHED)
    return runs.order_by("pk").first()
