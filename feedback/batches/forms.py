"""Reads the form of a batch: choices by row, words by row, one text for many rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import QueryDict

from feedback.batches.aggregate import BatchRead, BatchRun
from feedback.batches.answer_lines import BatchAnswer, LineOutcome
from feedback.batches.group import within
from feedback.batches.page import BatchDesk
from feedback.batches.rows import Entered, card_key, key_of
from feedback.models import FeedbackRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAnswers:
    """What is to be done: answers, the rows they are for, and what their author saw."""

    known: BatchRead
    answers: Sequence[BatchAnswer]
    seals: Mapping[str, str]


def named(data: Mapping[str, object], prefix: str) -> dict[str, str]:
    """The fields whose names begin so, by the rest of the name."""
    return {
        name.removeprefix(prefix): text.replace("\r\n", "\n")
        for name, value in data.items()
        if name.startswith(prefix) and (text := str(value)).strip()
    }


def entered(data: QueryDict) -> Entered:
    cards = named(data.dict(), "card-")
    return Entered(
        choices=named(data.dict(), "choice-"),
        comments=named(data.dict(), "comment-"),
        cards=cards,
        ticks={key: frozenset(data.getlist(f"in-{key}")) for key in cards},
    )


def filled(given: Entered, shown: BatchDesk, wish: str) -> Entered:
    """The same with one option chosen in every row of a kind; nothing is sent by that."""
    kind, _, value = wish.partition(":")
    chosen = {
        row.key: value
        for row in shown.rows
        if row.kind == kind
        and not row.refusal
        and value in {pick.option.value for pick in row.picks}
    }
    return replace(given, choices={**given.choices, **chosen})


def sent(given: Entered, known: BatchRead, seals: str) -> SentAnswers:
    """The answers that the form gives: those of rows, and those of cards for their ticked rows."""
    rows = _rows_as_seen(_keys(given), known)
    answers = [
        _answer(number, key, row, given) for number, (key, row) in enumerate(rows.items(), start=1)
    ]
    seen = dict(_pair(word) for word in seals.split())
    return SentAnswers(
        known=replace(known, rows=list(rows.values())),
        answers=[answer for answer in answers if answer],
        seals={row.run.run_id: seen.get(key, "") for key, row in rows.items()},
    )


def _pair(word: str) -> tuple[str, str]:
    key, _, seal = word.partition("=")
    return key, seal


def _keys(given: Entered) -> list[str]:
    ticked = (key for card in given.cards for key in sorted(given.ticks.get(card, ())))
    return list(dict.fromkeys([*given.choices, *given.comments, *ticked]))


def _rows_as_seen(keys: Sequence[str], known: BatchRead) -> dict[str, BatchRun]:
    """Key → its run with what it asked when the page was made, which need not be what it asks now.

    An answer is for the request that its author saw: a newer one of the same run is not meant.
    """
    now = {key_of(row): row for row in known.rows}
    by_pk = {row.run.pk: row for row in known.rows}
    by_uuid = {str(row.run.uuid): row for row in known.rows}
    gone = FeedbackRequest.objects.filter(
        within(known.batch, "run"), request_id__in=[key for key in keys if key not in now]
    )
    earlier = {request.request_id: request for request in gone}
    found: dict[str, BatchRun] = {}
    for key in keys:
        if key in now:
            row = now[key]
        elif key in earlier:
            row = replace(by_pk[earlier[key].run_id], asked=earlier[key])
        elif key in by_uuid:
            row = replace(by_uuid[key], asked=None)
        else:
            continue
        if row.run.pk not in {other.run.pk for other in found.values()}:
            found[key] = row
    return found


def _answer(number: int, key: str, row: BatchRun, given: Entered) -> BatchAnswer | None:
    blank = BatchAnswer(line=number, run_id=row.run.run_id)
    choice, words = given.choices.get(key, ""), given.comments.get(key, "")
    if choice:
        return replace(blank, response=choice, comment=words)
    if row.asked and row.asked.feedback_type.takes_text:
        text = words or _of_card(key, row, given)
        return replace(blank, response=text) if text else None
    if words:
        return blank.refuse(
            LineOutcome.INVALID_RESPONSE,
            f"Run {row.member.name}: select an option; your comment was not sent.",
        )
    return None


def _of_card(key: str, row: BatchRun, given: Entered) -> str:
    asks = row.member.asks
    for card, text in given.cards.items():
        is_meant = key in given.ticks.get(card, ())
        # A run that asks something else by now has no part in the card.
        if is_meant and (asks is None or card_key(asks.sameness) == card):
            return text
    return ""
