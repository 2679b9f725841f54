"""Checks that the record of decisions is whole: every chain, every answer and its event."""

from collections import Counter
from collections.abc import Iterator

from feedback.models import FeedbackResponse
from runs.domain.values.events import EventType
from runs.engine.history import broken_links
from runs.models import Event, Run
from runs.terminal.layout import one_line

_TAKEN = FeedbackResponse.State.TAKEN

Key = tuple[str, str]  # which request, which response


def faults() -> list[str]:
    """What is broken, in sentences; nothing when the record is whole."""
    chains = (fault for run in Run.objects.iterator() for fault in broken_links(run))
    return [*chains, *_untold(), *_unrecorded()]


def _untold() -> Iterator[str]:
    """Decisions that no event tells of."""
    told = Counter(key for _, key in _answers_told())
    # Imported decisions have no seal: their own history may never have told of them.
    decided = FeedbackResponse.objects.filter(decides=True, state=_TAKEN).exclude(seal="")
    # The history of a run that is executed elsewhere hears of it when it is written there.
    decided = decided.exclude(write_back__is_due=True)
    for response in decided.select_related("request__run").iterator():
        key = (response.request.request_id, response.response)
        if told[key] <= 0:
            said = f"{response.who} answered {one_line(response.response, 60)!r} to {key[0]}"
            yield f"{response.request.run.run_id}: {said}, but no event tells of it"
        told[key] -= 1


def _unrecorded() -> Iterator[str]:
    """Events that tell of answers which are not on record."""
    taken = FeedbackResponse.objects.filter(state=_TAKEN)
    rows = taken.values_list("request__request_id", "response")
    recorded: Counter[Key] = Counter(rows.iterator())
    for event, key in _answers_told():
        # What an import brought along may be on record where it came from.
        if recorded[key] <= 0 and event.number > event.run.told_elsewhere:
            said = f"event {event.number} tells of {one_line(key[1], 60)!r} to {key[0]}"
            yield f"{event.run.run_id}: {said}, which is not on record"
        recorded[key] -= 1


def _answers_told() -> Iterator[tuple[Event, Key]]:
    told = Event.objects.filter(type=EventType.FEEDBACK_RECEIVED).select_related("run")
    for event in told.order_by("run", "number").iterator():
        about = event.document.get("metadata", {})
        if about.get("request_id"):
            yield event, (str(about["request_id"]), str(about.get("response", "")))
