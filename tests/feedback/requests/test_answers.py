"""One answer per request, from whichever channel, whatever races it."""

import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from django.db import connections
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from feedback.models import FeedbackResponse
from feedback.requests.answers import Words, respond
from runs import engine
from runs.domain.values.actors import Actor, Role, Source
from runs.domain.values.errors import (
    AlreadyAnswered,
    FaberError,
    InvalidAnswer,
    NotAllowed,
    NotFound,
    Refused,
    Stale,
)
from runs.domain.values.status import RequestStatus
from runs.models import Project, Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps())


def untouched(run: Run) -> bool:
    return f.fresh(run).last_event_id == run.last_event_id and not FeedbackResponse.objects.exists()


def test_an_answer_is_on_record_with_who_where_and_when(run: Run) -> None:
    f.answer(run, "LGTM", "nice")

    response = FeedbackResponse.objects.get()
    assert (response.response, response.action, response.comment) == ("approve", "continue", "nice")
    assert response.provided_by == {
        "user": "Rita",
        "source": "web",
        "method": "session",
        "account": "rita",
    }
    assert response.seal == response.request.seal


def test_the_answer_its_events_the_move_and_the_job_come_together(run: Run) -> None:
    jobs = OrmQ.objects.count()

    f.answer(run, "approve")

    run = f.fresh(run)
    assert run.status == "in_progress"
    assert "approval_granted" in f.told(run)
    assert OrmQ.objects.count() == jobs + 1
    assert run.attempts.filter(status="queued").count() == 1


def test_a_second_answer_is_refused_with_who_what_and_when(run: Run) -> None:
    request = f.pending(run)
    f.answer(run, "approve")

    with pytest.raises(AlreadyAnswered, match=r"Rita chose approve \(web, \d{4}-.* UTC\)") as no:
        respond(request.request_id, "reject", actor=f.person("Sven"))

    assert no.value.details["who"] == "Rita"
    assert FeedbackResponse.objects.count() == 1


def test_request_changes_without_words_is_refused_and_changes_nothing(run: Run) -> None:
    with pytest.raises(InvalidAnswer, match="Say what should change when you choose"):
        f.answer(run, "request_changes", "  ")

    assert untouched(run)


def test_anchored_items_count_as_words(run: Run) -> None:
    items = [{"path": "spec.md", "line": 3, "body": "rename"}]

    respond(
        f.pending(run).request_id,
        "request_changes",
        actor=f.person(),
        words=Words(items=items),
    )

    attempt = run.attempts.last()
    assert attempt is not None
    assert attempt.feedback is not None
    assert attempt.feedback["items"] == [{**items[0], "number": 1}]


@pytest.mark.parametrize("said", ["maybe", "", "4", "confirm"])
def test_an_unknown_option_is_refused_and_changes_nothing(run: Run, said: str) -> None:
    with pytest.raises(InvalidAnswer, match="approve, request_changes, reject"):
        f.answer(run, said)

    assert untouched(run)


def test_an_answer_to_what_was_not_seen_is_stale(run: Run) -> None:
    with pytest.raises(Stale):
        respond(f.pending(run).request_id, "approve", actor=f.person(), seal="0" * 64)

    assert untouched(run)


def test_an_unknown_request_is_not_found() -> None:
    with pytest.raises(NotFound, match="fr-20260101-ffffff"):
        respond("fr-20260101-ffffff", "approve", actor=f.person())


def test_a_withdrawn_request_takes_no_answer(run: Run) -> None:
    request = f.pending(run)
    engine.cancel(run.pk, reason="not needed", actor=f.STARTER)

    with pytest.raises(Refused, match="was cancelled"):
        respond(request.request_id, "approve", actor=f.person())


@pytest.mark.parametrize(
    ("actor", "sentence"),
    [
        (f.person("Vera", groups=frozenset({"viewer"})), "Only reviewers and operators"),
        (f.person("Nobody", groups=frozenset()), "Only reviewers and operators"),
        (f.person("Bot", is_agent=True), "can't answer"),
    ],
)
def test_who_may_not_answer_is_told_why(run: Run, actor: Actor, sentence: str) -> None:
    with pytest.raises(NotAllowed, match=sentence):
        f.answer(run, "approve", actor=actor)

    assert untouched(run)


def reviewed_by(*reviewers: str, quorum: int = 1) -> Run:
    step = f.step("spec", requires_approval=True, reviewers=list(reviewers), quorum=quorum)
    return f.started(f.workflow({"architect": [step], "build": [f.step("make")]}))


def test_only_named_reviewers_and_groups_may_answer() -> None:
    run = reviewed_by("rita", "group:security")

    with pytest.raises(NotAllowed, match="rita, group:security"):
        f.answer(run, "approve", actor=f.person("Sven"))

    f.answer(run, "approve", actor=f.person("Sam", groups=frozenset({"reviewer", "security"})))
    assert f.fresh(run).status == "in_progress"


def test_a_git_name_does_not_make_somebody_a_reviewer() -> None:
    run = reviewed_by("rita")
    pretender = Actor(
        name="rita",
        source=Source.CLI,
        method="git_config",
        account="mallory",
        groups=frozenset({Role.OPERATOR.value}),
    )

    with pytest.raises(NotAllowed):
        f.answer(run, "approve", actor=pretender)


def test_who_started_a_run_may_not_answer_it_where_that_is_refused(
    run: Run, settings: Settings
) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"

    with pytest.raises(NotAllowed, match="You started this run"):
        f.answer(run, "approve", actor=f.STARTER)
    with pytest.raises(NotAllowed, match="You started this run"):
        f.answer(run, "approve", actor=f.person("otto"))

    f.answer(run, "approve", actor=f.person("Rita"))


def test_a_quorum_needs_as_many_people_and_grants_once() -> None:
    run = reviewed_by("group:reviewer", quorum=2)

    first = f.answer(run, "approve", actor=f.person("Rita"))
    assert not first.decides
    assert f.pending(run).status == "pending"
    with pytest.raises(AlreadyAnswered, match="You have already answered"):
        f.answer(run, "approve", actor=f.person("Rita"))
    f.answer(run, "approve", actor=f.person("Sven"))

    run = f.fresh(run)
    assert run.status == "in_progress"
    assert f.told(run).count("feedback_received") == 2
    assert f.told(run).count("approval_granted") == 1


def test_one_reject_decides_a_quorum() -> None:
    run = reviewed_by("group:reviewer", quorum=3)
    f.answer(run, "approve", actor=f.person("Rita"))

    f.answer(run, "reject", actor=f.person("Sven"))

    assert f.fresh(run).status == "cancelled"


def respond_as(request_id: str, name: str, response: str) -> str:
    try:
        respond(request_id, response, actor=f.person(name))
    except FaberError as refusal:
        return type(refusal).__name__
    else:
        return "taken"
    finally:
        connections.close_all()


def in_threads(request_id: str, first: int, count: int) -> list[str]:
    """Answers from many threads of one process, alternately for and against."""
    with ThreadPoolExecutor(max_workers=10) as pool:
        answers = [
            pool.submit(respond_as, request_id, f"Person {n}", "approve" if n % 2 else "reject")
            for n in range(first, first + count)
        ]
        return [answer.result() for answer in answers]


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(300)
def test_two_hundred_concurrent_answers_leave_exactly_one_response() -> None:
    run = f.started(f.five_steps())
    request_id = f.pending(run).request_id
    connections.close_all()

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(max_workers=4, mp_context=context) as pool:
        batches = [pool.submit(in_threads, request_id, n * 50, 50) for n in range(4)]
        results = Counter(result for batch in batches for result in batch.result())

    assert results == {"taken": 1, "AlreadyAnswered": 199}
    response = FeedbackResponse.objects.get()
    assert response.request.status == RequestStatus.ANSWERED
    run = f.fresh(run)
    assert f.told(run).count("feedback_received") == 1
    assert run.status == ("in_progress" if response.action == "continue" else "cancelled")


TWO_OF = {"reviewers": ["group:reviewer"], "quorum": 2}


@pytest.mark.parametrize(
    ("does", "response"),
    [
        ("tests.steps:fail", "retry"),
        ("tests.steps:fail", "skip"),
        ("tests.steps:warn", "continue"),
        ("tests.steps:warn", "fix"),
    ],
)
def test_what_lets_a_step_go_on_needs_its_quorum(does: str, response: str) -> None:
    handling = {"on_warning": "prompt"}
    run = f.started(
        f.workflow({"build": [f.step("make", does, result_handling=handling, **TWO_OF)]})
    )

    first = f.answer(run, response, actor=f.person("Rita"))
    assert (first.decides, f.fresh(run).status) == (False, "awaiting_feedback")
    second = f.answer(run, response, actor=f.person("Rosa"))

    assert second.decides


@pytest.mark.parametrize(
    ("does", "response"), [("tests.steps:fail", "abort"), ("tests.steps:warn", "stop")]
)
def test_what_ends_a_run_needs_one(does: str, response: str) -> None:
    handling = {"on_warning": "prompt"}
    run = f.started(
        f.workflow({"build": [f.step("make", does, result_handling=handling, **TWO_OF)]})
    )

    assert f.answer(run, response).decides
    assert f.fresh(run).status == "cancelled"


@pytest.mark.parametrize("does", ["fail", "warn", "ask"])
def test_whatever_a_step_asks_is_for_its_reviewers(does: str) -> None:
    make = f.step(
        "make",
        f"tests.steps:{does}",
        reviewers=["olga"],
        result_handling={"on_warning": "prompt", "on_success": "prompt"},
    )
    run = f.started(f.workflow({"build": [make]}))

    with pytest.raises(NotAllowed):
        f.answer(run, f.pending(run).choices[0].value, actor=f.person("Rita"))


def test_a_project_that_names_reviewers_has_them_asked_about_failures() -> None:
    Project.objects.create(name="Acme/App", reviewers=["olga"])

    run = f.started(f.workflow({"build": [f.step("make", "tests.steps:fail")]}))

    assert f.pending(run).reviewers == ["olga"]


def test_a_failure_that_is_skipped_comes_to_the_gate() -> None:
    spec = f.step("spec", "tests.steps:fail", requires_approval=True, **TWO_OF)
    run = f.started(f.workflow({"architect": [spec], "build": [f.step("make")]}))
    for name in ("Rita", "Rosa"):
        f.answer(run, "skip", actor=f.person(name))

    gate = f.pending(run)
    assert (gate.gate, gate.quorum, gate.reviewers) == ("after_step", 2, ["group:reviewer"])
    for name in ("Rita", "Rosa"):
        f.answer(run, "approve", actor=f.person(name))
    run = f.work(run)

    assert run.status == "completed"
    assert "step_skip architect:spec" in f.story(run)
    assert "step_complete architect:spec" not in f.story(run)


WARNING: f.Json = {
    "status": "warning",
    "message": "old API",
    "warnings": ["deprecated"],
    "suggested_fixes": ["Use the new API.", "Pin the version."],
}


@pytest.mark.parametrize(("response", "fixes"), [("fix", True), ("continue", False)])
def test_fix_brings_the_suggested_fixes_into_the_feedback(response: str, fixes: bool) -> None:
    warns = f.step(
        "make",
        "tests.steps:say",
        arguments={"response": WARNING},
        result_handling={"on_warning": "stop"},
    )
    run = f.started(f.workflow({"build": [warns, f.step("then")]}))

    f.answer(run, response)

    feedback = run.attempts.latest("pk").feedback
    assert feedback
    told = feedback.get("suggested_fixes")
    assert told == (["Use the new API.", "Pin the version."] if fixes else None)


def test_the_words_of_a_clarification_bring_no_fixes() -> None:
    asks = f.step("ask", "tests.steps:ask")
    run = f.started(f.workflow({"build": [asks]}))

    f.answer(run, "fix")

    assert "suggested_fixes" not in (run.attempts.latest("pk").feedback or {})


@pytest.mark.parametrize("kind", ["script", "document"])
def test_a_hook_before_a_phase_leaves_its_gate_to_those_who_review_its_first_step(
    kind: str,
) -> None:
    hook = {"type": kind, "name": "prepare", "path": "prepare"}
    make = f.step("make", reviewers=["Rita", "Sven"], quorum=2)
    gated: f.Json = {"require_approval": True, "steps": [make, f.step("more")]}
    run = f.started(f.workflow({"build": gated}, hooks={"pre_build": [hook]}))

    asked = f.pending(run)
    assert (asked.gate, asked.reviewers, asked.quorum) == ("phase", ["Rita", "Sven"], 2)
    with pytest.raises(NotAllowed):
        f.answer(run, "approve", actor=f.person("Zoe"))
    assert not f.answer(run, "approve").decides
    assert f.answer(run, "approve", actor=f.person("Sven")).decides
