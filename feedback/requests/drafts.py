"""What somebody is typing: kept text by text, and never over what they typed in another tab."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from feedback.models import BatchDraft, Draft
from runs.domain.values.errors import InvalidAnswer

MOST_TEXTS = 1000  # a form of a batch has no more fields
_LONGEST_NAME = 100
_LONGEST_TEXT = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """One text as a page has it, and what that page takes for the text kept before."""

    text: str
    known: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    values: Mapping[str, str]
    conflicts: Mapping[str, str]  # what another tab has kept in place of what this one knows


def read(sent: str) -> dict[str, Typed]:
    """What the script of a page sends: `{name: {text, known}}`."""
    try:
        given = json.loads(sent)
        if len(given) > MOST_TEXTS:
            raise InvalidAnswer(f"A draft has at most {MOST_TEXTS} texts.")
        return {
            _clean(name)[:_LONGEST_NAME]: Typed(
                text=_clean(entry["text"]), known=[_clean(text) for text in entry["known"]]
            )
            for name, entry in given.items()
        }
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InvalidAnswer("The draft is not valid.") from error


def merge(kept: Mapping[str, str], typed: Mapping[str, Typed]) -> Merged:
    """Take each text whose page knew what was kept; the others stay, and are told back."""
    values, conflicts = dict(kept), {}
    for name, entry in typed.items():
        there = values.get(name, "")
        if there and there != entry.text and there not in entry.known:
            conflicts[name] = there
        elif entry.text:
            values[name] = entry.text
        else:
            values.pop(name, None)
    return Merged(values=values, conflicts=conflicts)


def keep(
    drafts: QuerySet[Draft] | QuerySet[BatchDraft], typed: Mapping[str, Typed], **place: Any
) -> Merged:
    """Merge into the draft at this place, which is made when there is none."""
    with transaction.atomic():
        row, _is_new = drafts.select_for_update().get_or_create(**place)
        merged = merge(row.values, typed)
        row.values, row.saved_at = dict(merged.values), timezone.now()
        row.save(update_fields=["values", "saved_at"])
    return merged


def _clean(text: object) -> str:
    """Without what a database refuses: NULs, and halves of characters."""
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise InvalidAnswer(f"A draft is text of at most {_LONGEST_TEXT} characters.")
    return text.replace("\0", "").encode("utf-8", "replace").decode()
