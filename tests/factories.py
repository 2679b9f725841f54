"""Makes runs for tests: workflows as short documents, and a worker that is called by hand."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from django.utils import timezone

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.answers import Words, respond
from runs import engine
from runs.domain.values.actors import Actor, Role, Source
from runs.domain.values.status import RequestStatus
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.plan import Plan
from runs.engine import Start
from runs.models import Project, Run, StepAttempt, clock
from runs.worker import advance
from runs.workflow_files import library

Json = dict[str, object]

SUCCEED = "tests.steps:succeed"


def step(step_id: str, python: str = SUCCEED, **fields: object) -> Json:
    return {"id": step_id, "python": python, **fields}


def workflow(phases: Mapping[str, list[Json] | Json], **fields: object) -> Json:
    """A workflow document; a phase is its list of steps, or the whole phase."""
    return {
        "id": "small",
        "phases": {
            name: {"steps": phase} if isinstance(phase, list) else phase
            for name, phase in phases.items()
        },
        **fields,
    }


def five_steps(**fields: object) -> Json:
    """A step in each phase, with a review after the second."""
    return workflow(
        {
            "frame": [step("one")],
            "architect": [step("two", requires_approval=True, approval_type="review")],
            "build": [step("three")],
            "evaluate": [step("four")],
            "release": [step("five")],
        },
        **fields,
    )


def typed_questions() -> Json:
    """One step that asks with a form whose questions have types."""
    return workflow({"build": [step("ask", "tests.steps:ask_typed")]})


def plan_of(document: Json) -> Plan:
    chain = library.load_definition(document, workspace=None)
    return make_plan(chain.workflows).plan


def person(name: str = "Rita", **fields: object) -> Actor:
    known = {"source": Source.WEB, "method": "session", "groups": frozenset({Role.REVIEWER.value})}
    return Actor(name=name, account=name.lower(), **{**known, **fields})  # type: ignore[arg-type]


STARTER = person("Otto", source=Source.CLI, groups=frozenset({Role.OPERATOR.value}), sees_all=True)


def start(document: Json, workspace: Path | None = None, **fields: object) -> Run:
    """A run that stands at its first step, queued for a worker."""
    project, _ = Project.objects.get_or_create(name="Acme/App")
    order = Start(
        plan=plan_of(document),
        project=project,
        workspace=workspace or Path("/"),
        actor=STARTER,
        **fields,  # type: ignore[arg-type]
    )
    return engine.start(order)[0]


def long_ago(age: timedelta) -> datetime:
    """A moment that is further back than this."""
    return clock.now() - age - timedelta(seconds=1)


def lose(run: Run) -> None:
    """Its worker stopped reporting, and somebody looked on for long enough to know."""
    long_ago = timezone.now() - timedelta(minutes=1)
    run.attempts.filter(status=StepAttempt.Status.RUNNING).update(lease_until=long_ago)
    engine.bring_back(run.pk, seen=long_ago)


def work(run: Run) -> Run:
    """Be the worker: go on with the run until it parks."""
    advance.drive(engine.claim(run.pk, advance.worker_name()))
    return fresh(run)


def started(document: Json, workspace: Path | None = None, **fields: object) -> Run:
    return work(start(document, workspace, **fields))


def fresh(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def pending(run: Run) -> FeedbackRequest:
    return FeedbackRequest.objects.get(run=run, status=RequestStatus.PENDING)


def answer(
    run: Run, response: str, comment: str = "", actor: Actor | None = None
) -> FeedbackResponse:
    """Answer what the run asks, without going on with it."""
    return respond(
        pending(run).request_id, response, actor=actor or person(), words=Words(comment=comment)
    )


def answered(run: Run, response: str, comment: str = "") -> Run:
    """Answer, and go on until the run parks again."""
    answer(run, response, comment)
    return work(run)


def told(run: Run) -> list[str]:
    """The types of a run's events, in order."""
    return list(run.events.order_by("number").values_list("type", flat=True))


def story(run: Run) -> list[str]:
    """Events as `type phase:step`, short enough to compare whole."""
    rows = run.events.order_by("number").values_list("type", "phase", "step")
    return [
        " ".join(filter(None, [kind, ":".join(filter(None, [phase, step_]))]))
        for kind, phase, step_ in rows
    ]


def reviewed_list(workspace: Path, **fields: object) -> FeedbackRequest:
    """A review of a short document, revised whenever changes are asked for."""
    review = step(
        "write",
        "tests.steps:revise_list",
        artifact="list.md",
        requires_approval=True,
        approval_type="review",
    )
    phases: dict[str, list[Json] | Json] = {
        "architect": [review],
        "build": [step("make", "tests.steps:keep_briefing"), step("check")],
        "release": {"require_approval": True, "steps": [step("merge")]},
    }
    return pending(started(workflow(phases), workspace, work_id="258", **fields))


SPEC = "specs/spec.md"


def spec_reviewed(workspace: Path, **fields: object) -> Run:
    """A run that waits for the review of a file, and has a step behind it."""
    spec = step("spec", "tests.steps:write_spec", artifact=SPEC, requires_approval=True, **fields)
    document = workflow({"architect": [spec], "build": [step("use")]})
    return started(document, workspace, work_id="258")
