"""Tells every promise that was broken in what was seen."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.chaos.storm.history import ACKNOWLEDGED, REFUSED, History, Sign

MOST_REST = 60.0
# Whoever wakes with a whole machine may do a moment's work before its warden, woken too, stops it.
MOMENT = 1.0
FINAL = ("completed", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    rule: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.evidence}"


def violations(history: History) -> list[Violation]:
    return [
        Violation(rule=rule, evidence=evidence)
        for rule, broken in RULES.items()
        for evidence in broken(history)
    ]


def _starts_once(history: History) -> Iterator[str]:
    made = Counter(row.key for row in history.tables.runs)
    for start in history.starts:
        fewest = 1 if start.outcome == ACKNOWLEDGED else 0
        if not fewest <= made[start.key] <= 1:
            yield f"start {start.key} was {start.outcome}, and {made[start.key]} runs have it"


def _answers_once(history: History) -> Iterator[str]:
    told = Counter(
        (row.request, word)
        for row in history.tables.responses
        if row.state != "retracted"
        for word in row.comment.split()
    )
    for answer in history.answers:
        fewest = 1 if answer.outcome == ACKNOWLEDGED else 0
        most = 0 if answer.outcome == REFUSED else 1
        found = told[answer.about, answer.key]
        if not fewest <= found <= most:
            yield (
                f"answer {answer.key} to {answer.about} was {answer.outcome}, on record {found}"
                f" times {answer.told}".rstrip()
            )


def _effects_once(history: History) -> Iterator[str]:
    """An answer that decided moved its run once: one event, and one finished revision."""
    tables = history.tables
    received = [row for row in tables.events if row.type == "feedback_received"]
    finished = [row for row in tables.attempts if row.status == "finished"]
    deciding = Counter(row.request for row in tables.responses if row.decides)
    for request in tables.requests:
        events = sum(request.request in row.document for row in received)
        wanted = 1 if request.status == "answered" else 0
        if (deciding[request.request], events) != (wanted, wanted):
            yield (
                f"{request.request} is {request.status}, with {deciding[request.request]} deciding"
                f" responses and {events} events of them"
            )
    for response in tables.responses:
        if response.action == "revise" and response.decides:
            revised = [row for row in finished if response.comment in row.feedback]
            if len(revised) != 1:
                yield f"the changes of {response.comment!r} were made {len(revised)} times"


def _one_at_a_time(history: History) -> Iterator[str]:
    newest: dict[str, Sign] = {}
    for sign in history.signs:
        if sign.what == "begin":
            newest[sign.run] = sign
            continue
        now = newest.get(sign.run, sign)
        is_waking = any(0 <= sign.at - woke <= MOMENT for woke in history.wakings)
        if _who(sign) != _who(now) and not is_waking:
            yield f"{_name(sign)} at {sign.at:.2f} goes on beside {_name(now)} of {now.at:.2f}"


def _who(sign: Sign) -> tuple[str, int, int]:
    return sign.step, sign.attempt, sign.pid


def _name(sign: Sign) -> str:
    return f"{sign.run} {sign.step} #{sign.attempt} (process {sign.pid})"


def _executions_admitted(history: History) -> Iterator[str]:
    begun, ended = (
        Counter((s.run, s.step, s.attempt) for s in history.signs if s.what == what)
        for what in ("begin", "end")
    )
    admitted = {(row.run, row.step, row.number): row for row in history.tables.attempts}
    for key, times in begun.items():
        if times > 1 or key not in admitted:
            there = "is" if key in admitted else "is not"
            yield f"{' '.join(map(str, key))} {there} in the database and was begun {times} times"
    for key, row in admitted.items():
        if row.status == "finished" and (begun[key], ended[key]) != (1, 1):
            yield (
                f"{' '.join(map(str, key))} is finished, begun {begun[key]} times and ended"
                f" {ended[key]} times"
            )


def _events_gapless(history: History) -> Iterator[str]:
    numbers = defaultdict(list)
    for event in history.tables.events:
        numbers[event.run].append(event.number)
    for run in history.tables.runs:
        if sorted(numbers[run.run]) != list(range(1, run.last_event + 1)):
            yield f"{run.run} has events {sorted(numbers[run.run])}, its last is {run.last_event}"


def _one_open_request(history: History) -> Iterator[str]:
    yield from history.askew
    is_open = Counter(row.run for row in history.tables.requests if row.status == "pending")
    for run in history.tables.runs:
        if is_open[run.run] != (run.status == "awaiting_feedback"):
            yield f"{run.run} is {run.status} with {is_open[run.run]} open requests"


def _final_is_final(history: History) -> Iterator[str]:
    ends = Counter(
        row.run
        for row in history.tables.events
        if row.type in ("workflow_complete", "workflow_cancelled")
    )
    final: dict[str, str] = {}
    at_the_end = [(row.run, row.status) for row in history.tables.runs]
    for run, status in [*((look.run, look.status) for look in history.looks), *at_the_end]:
        if final.get(run, status) != status:
            yield f"{run} was {final[run]} and is {status}"
        if status in FINAL:
            final[run] = status
    for run, status in at_the_end:
        if ends[run] != (status in FINAL):
            yield f"{run} is {status}, and its history tells {ends[run]} ends"


def _one_comment(history: History) -> Iterator[str]:
    posted = Counter(history.marks)
    for request in history.tables.requests:
        if posted[request.request] != request.is_on_github:
            yield f"{request.request} has {posted[request.request]} comments"
    heard = Counter(row.comment_id for row in history.tables.heard if row.state != "heard")
    for spoken in history.spoken:
        replies = posted[f"reply-{spoken.comment_id}"]
        if (heard[spoken.comment_id], replies) != (1, 1):
            yield (
                f"the command {spoken.comment_id} about {spoken.request} was acted on"
                f" {heard[spoken.comment_id]} times, with {replies} replies"
            )


def _at_rest(history: History) -> Iterator[str]:
    if history.rest is None or history.rest > MOST_REST:
        seconds = "never" if history.rest is None else f"after {history.rest:.0f} s"
        yield f"{seconds}; still to do: {history.unrest or 'nothing'}"


def _no_troubles(history: History) -> Iterator[str]:
    yield from history.troubles


RULES: Mapping[str, Callable[[History], Iterator[str]]] = {
    "each acknowledged start is one run": _starts_once,
    "each acknowledged answer is on record once": _answers_once,
    "each answer takes effect once": _effects_once,
    "no run executes twice at a time": _one_at_a_time,
    "executions equal admitted attempts": _executions_admitted,
    "events are gapless": _events_gapless,
    "one open request exactly while awaiting": _one_open_request,
    "final states are final": _final_is_final,
    "one comment for each request, one reply for each command": _one_comment,
    "at rest within 60 s of the last fault": _at_rest,
    "nothing else went wrong": _no_troubles,
}
