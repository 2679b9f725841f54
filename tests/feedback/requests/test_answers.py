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
from runs.models import Run
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
        (f.person("Vera", groups=frozenset({"viewer"})), "for reviewers and operators"),
        (f.person("Nobody", groups=frozenset()), "for reviewers and operators"),
        (f.person("Bot", is_agent=True), "never answer"),
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
    with pytest.raises(AlreadyAnswered, match="You have answered this already"):
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
