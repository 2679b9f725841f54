"""The feedback ledger: numbered items of a review, and what became of each in the next round."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

Json = Mapping[str, object]


class ItemOutcome(StrEnum):
    DONE = "done"
    PARTLY = "partly"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    outcome: ItemOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLine:
    """One item beside what the revision says about it; None when it says nothing."""

    item: Json
    disposition: Disposition | None

    @property
    def number(self) -> int:
        return _number(self.item.get("number")) or 0


def numbered(items: Iterable[Json]) -> list[dict[str, object]]:
    """Items as they are recorded: numbered from 1, whatever they were called before."""
    return [{**item, "number": number} for number, item in enumerate(items, start=1)]


def balance(items: Iterable[Json], details: Json) -> list[ItemLine]:
    """Each item of a review with its disposition, as far as the revise step returned one."""
    given = dict(_dispositions(details.get("dispositions")))
    return [
        ItemLine(item=item, disposition=given.get(_number(item.get("number")) or 0))
        for item in items
    ]


def _dispositions(given: object) -> Iterator[tuple[int, Disposition]]:
    """Both ways of writing them: a list of objects with `item`, or a mapping by item number."""
    pairs: Iterable[tuple[object, object]]
    if isinstance(given, Mapping):
        pairs = given.items()
    elif isinstance(given, list):
        pairs = ((entry.get("item"), entry) for entry in given if isinstance(entry, Mapping))
    else:
        return
    for name, said in pairs:
        number, disposition = _number(name), _disposition(said)
        if number and disposition:
            yield number, disposition


def _disposition(said: object) -> Disposition | None:
    entry: Json = said if isinstance(said, Mapping) else {"disposition": said}
    word = str(_first(entry, "disposition", "outcome", "status")).strip().lower()
    outcome, _, rest = word.partition(":")
    try:
        known = ItemOutcome(outcome.strip())
    except ValueError:
        return None
    reason = str(_first(entry, "reason", "note", "comment")) or rest
    return Disposition(outcome=known, reason=reason.strip())


def _first(entry: Json, *names: str) -> object:
    return next((entry[name] for name in names if entry.get(name)), "")


def _number(value: object) -> int | None:
    """`3`, `"3"` and `"#3"` are the same item."""
    text = str(value).strip().removeprefix("#")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else None
