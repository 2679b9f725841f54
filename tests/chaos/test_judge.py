"""The judge of storms: it finds nothing in a whole history, and names whatever is planted in it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.storm import history as histories
from tests.chaos.storm.history import (
    ACKNOWLEDGED,
    REFUSED,
    UNKNOWN,
    Asked,
    AttemptRow,
    EventRow,
    HeardRow,
    History,
    Look,
    RequestRow,
    ResponseRow,
    RunRow,
    Sign,
    Spoken,
    Tables,
)
from tests.chaos.storm.judge import RULES, violations

RUN = "local/work/0b8f3a52"
OTHER = "acme/storm/71a750d6"
Plant = Callable[[History], History]


def sign(what: str, step: str, attempt: int, at: float) -> Sign:
    return Sign(what=what, run=RUN, step=step, attempt=attempt, pid=attempt, at=at)


def attempt(step: str, number: int, status: str, feedback: str = "") -> AttemptRow:
    return AttemptRow(
        run=RUN, step=step, number=number, status=status, reason="", feedback=feedback
    )


def event(run: str, number: int, kind: str, document: str = "") -> EventRow:
    return EventRow(run=run, number=number, type=kind, document=document)


def response(request: str, comment: str, action: str) -> ResponseRow:
    return ResponseRow(request=request, comment=comment, action=action, decides=True, state="taken")


# A run whose first attempt was lost, that was changed once and approved, and one on GitHub.
WHOLE = History(
    signs=(
        sign("begin", "make", 1, 1.0),
        sign("alive", "make", 1, 1.2),
        sign("begin", "make", 2, 5.0),
        sign("alive", "make", 2, 5.2),
        sign("end", "make", 2, 5.3),
        sign("begin", "make", 3, 8.0),
        sign("end", "make", 3, 8.2),
    ),
    starts=(
        Asked(key="storm-0", outcome=ACKNOWLEDGED, about=RUN),
        Asked(key="storm-1", outcome=UNKNOWN),
        Asked(key="storm-2", outcome=ACKNOWLEDGED, about=OTHER),
    ),
    answers=(
        Asked(key="answer-a", outcome=ACKNOWLEDGED, about="fr-a"),
        Asked(key="answer-b", outcome=UNKNOWN, about="fr-b"),
        Asked(key="answer-late", outcome=REFUSED, about="fr-b"),
    ),
    spoken=(Spoken(comment_id=1007, request="fr-c"),),
    marks=("fr-c", "reply-1007"),
    looks=(Look(run=RUN, status="in_progress"), Look(run=RUN, status="completed")),
    tables=Tables(
        runs=(
            RunRow(run=RUN, key="storm-0", status="completed", last_event=3),
            RunRow(run=OTHER, key="storm-2", status="awaiting_feedback", last_event=1),
        ),
        events=(
            event(RUN, 1, "feedback_received", "about fr-a"),
            event(RUN, 2, "feedback_received", "about fr-b"),
            event(RUN, 3, "workflow_complete"),
            event(OTHER, 1, "feedback_request", "about fr-c"),
        ),
        attempts=(
            attempt("make", 1, "lost"),
            attempt("make", 2, "finished"),
            attempt("make", 3, "finished", feedback='{"comment": "answer-a"}'),
        ),
        requests=(
            RequestRow(request="fr-a", run=RUN, status="answered", is_on_github=False),
            RequestRow(request="fr-b", run=RUN, status="answered", is_on_github=False),
            RequestRow(request="fr-c", run=OTHER, status="pending", is_on_github=True),
        ),
        responses=(
            response("fr-a", "answer-a", "revise"),
            response("fr-b", "answer-b", "continue"),
        ),
        heard=(HeardRow(comment_id=1007, state="refused"),),
    ),
    rest=12.0,
)


def in_tables(**changed: object) -> Plant:
    return lambda seen: replace(seen, tables=replace(seen.tables, **changed))  # type: ignore[arg-type]


def seeing(**changed: object) -> Plant:
    return lambda seen: replace(seen, **changed)  # type: ignore[arg-type]


TABLES = WHOLE.tables
PLANTED: dict[str, tuple[str, Plant]] = {
    "a start that is lost": (
        "each acknowledged start is one run",
        in_tables(runs=TABLES.runs[1:], events=TABLES.events[3:], requests=TABLES.requests[2:]),
    ),
    "a start that became two runs": (
        "each acknowledged start is one run",
        in_tables(runs=(*TABLES.runs, replace(TABLES.runs[0], run="local/work/again"))),
    ),
    "an answer that is lost": (
        "each acknowledged answer is on record once",
        in_tables(responses=TABLES.responses[1:]),
    ),
    "an answer that appears twice": (
        "each acknowledged answer is on record once",
        in_tables(responses=(*TABLES.responses, TABLES.responses[0])),
    ),
    "a refused answer that was kept": (
        "each acknowledged answer is on record once",
        in_tables(responses=(*TABLES.responses, response("fr-b", "answer-late", "continue"))),
    ),
    "an answer that moved its run twice": (
        "each answer takes effect once",
        in_tables(events=(*TABLES.events, event(OTHER, 2, "feedback_received", "about fr-a"))),
    ),
    "changes that nobody made": (
        "each answer takes effect once",
        in_tables(attempts=(*TABLES.attempts[:2], attempt("make", 3, "finished"))),
    ),
    "a step beside its successor": (
        "no run executes twice at a time",
        seeing(signs=(*WHOLE.signs[:3], sign("alive", "make", 1, 5.1), *WHOLE.signs[3:])),
    ),
    "a step that goes on long after its host woke": (
        "no run executes twice at a time",
        seeing(
            signs=(*WHOLE.signs[:3], sign("alive", "make", 1, 5.1), *WHOLE.signs[3:]),
            wakings=(3.0,),
        ),
    ),
    "an attempt begun twice": (
        "executions equal admitted attempts",
        seeing(signs=(*WHOLE.signs, sign("begin", "make", 3, 9.0))),
    ),
    "an execution that nobody admitted": (
        "executions equal admitted attempts",
        seeing(signs=(*WHOLE.signs, sign("begin", "make", 4, 9.0))),
    ),
    "a finished step that nobody executed": (
        "executions equal admitted attempts",
        seeing(signs=WHOLE.signs[:5]),
    ),
    "a gap in the events": (
        "events are gapless",
        in_tables(events=(*TABLES.events[:1], *TABLES.events[2:])),
    ),
    "a run that awaits nothing": (
        "one open request exactly while awaiting",
        in_tables(requests=(*TABLES.requests[:2], replace(TABLES.requests[2], status="answered"))),
    ),
    "a request of a run that went on": (
        "one open request exactly while awaiting",
        in_tables(requests=(*TABLES.requests, replace(TABLES.requests[0], status="pending"))),
    ),
    "a request that was seen at the wrong time": (
        "one open request exactly while awaiting",
        seeing(askew=(f"{RUN} was seen completed with 1 open requests",)),
    ),
    "a run that went on after its end": (
        "final states are final",
        seeing(looks=(*WHOLE.looks, Look(run=RUN, status="in_progress"))),
    ),
    "a run that ended twice": (
        "final states are final",
        in_tables(events=(*TABLES.events, event(RUN, 4, "workflow_complete"))),
    ),
    "a comment posted twice": (
        "one comment for each request, one reply for each command",
        seeing(marks=(*WHOLE.marks, "fr-c")),
    ),
    "a comment never posted": (
        "one comment for each request, one reply for each command",
        seeing(marks=WHOLE.marks[1:]),
    ),
    "a command without a reply": (
        "one comment for each request, one reply for each command",
        seeing(marks=WHOLE.marks[:1]),
    ),
    "a command that nobody heard": (
        "one comment for each request, one reply for each command",
        in_tables(heard=()),
    ),
    "a site that comes to rest late": ("at rest within 60 s of the last fault", seeing(rest=61.0)),
    "a site without rest": ("at rest within 60 s of the last fault", seeing(rest=None)),
    "a supervisor that ended": ("nothing else went wrong", seeing(troubles=("one has ended",))),
}


def test_a_whole_history_has_no_violation() -> None:
    assert violations(WHOLE) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_named(name: str) -> None:
    rule, plant = PLANTED[name]

    assert rule in {violation.rule for violation in violations(plant(WHOLE))}


def test_every_rule_has_a_violation_planted() -> None:
    assert {rule for rule, _ in PLANTED.values()} == set(RULES)


def test_the_first_moment_of_a_host_that_woke_is_forgiven() -> None:
    woken = (*WHOLE.signs[:3], sign("alive", "make", 1, 5.1), *WHOLE.signs[3:])

    assert violations(replace(WHOLE, signs=woken, wakings=(5.0,))) == []


def test_a_history_is_kept_whole(tmp_path: Path) -> None:
    histories.write(WHOLE, tmp_path / "history.json")

    assert histories.read(tmp_path / "history.json") == WHOLE
