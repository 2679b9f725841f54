"""Links the lines of the record to one chain, and tells where it is broken."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from runs.chain import entries, keys
from runs.domain.values.events import timestamp
from runs.models import AuditEntry

_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where the chain ended at some moment; kept elsewhere, it finds what was cut off since."""

    number: int
    link: str
    at: str
    key: str
    signature: str = ""

    @property
    def is_ours(self) -> bool:
        return keys.fits(self.signature, *self._said())

    def signed(self) -> "Checkpoint":
        code = keys.code(*self._said())
        return Checkpoint(
            number=self.number, link=self.link, at=self.at, key=self.key, signature=code
        )

    def _said(self) -> tuple[object, ...]:
        return ("checkpoint", self.number, self.link, self.at, self.key)

    def shape(self) -> dict[str, object]:
        return {
            "number": self.number,
            "link": self.link,
            "at": self.at,
            "key": self.key,
            "signature": self.signature,
        }


def link_new(most: int = _AT_ONCE) -> int:
    """Number the lines that are new and bind each to the one before; how many there were.

    Whoever writes a line does not wait for anybody else's: that is why this comes later.
    """
    new = AuditEntry.objects.filter(number=None).order_by("id")
    if not new.exists():
        return 0
    try:
        return _linked(new, most)
    except IntegrityError:
        return 0  # somebody else gave these numbers in the same moment


def _linked(new: QuerySet[AuditEntry], most: int) -> int:
    with transaction.atomic():
        last = AuditEntry.objects.exclude(number=None).order_by("-number").first()
        number, link = (last.number or 0, last.link) if last else (0, "")
        rows = list(new[:most])
        for entry in rows:
            number += 1
            link = _link(link, number, entry.code)
            entry.number, entry.link = number, link
        AuditEntry.objects.bulk_update(rows, ["number", "link"], batch_size=100)
    return len(rows)


def link_all() -> None:
    while link_new():
        pass


def checkpoint(now: datetime | None = None) -> Checkpoint:
    link_all()
    last = AuditEntry.objects.order_by("-number").first()
    return Checkpoint(
        number=(last.number or 0) if last else 0,
        link=last.link if last else "",
        at=timestamp(now or timezone.now()),
        key=keys.key_name(),
    ).signed()


def walk(faults: list[str]) -> Iterator[AuditEntry]:
    """Every line in order; what is wrong with the chain is added to the faults on the way."""
    link, expected = "", 1
    for entry in AuditEntry.objects.order_by("number").iterator(chunk_size=_AT_ONCE):
        number = entry.number or 0
        if number != expected:
            faults.append(_missing(expected, number))
            link = ""  # whatever follows cannot be checked against what is gone
        if entry.key != keys.key_name():
            faults.append(f"{_named(entry)} was written with another key")
        elif not keys.fits(entry.code, *_said(entry)):
            faults.append(f"{_named(entry)} was changed")
        elif (link or number == 1) and entry.link != _link(link, number, entry.code):
            faults.append(f"{_named(entry)} does not follow the one before it")
        link, expected = entry.link, number + 1
        yield entry


def faults_against(kept: Checkpoint) -> list[str]:
    """What a checkpoint from before knows better than the chain itself."""
    if not kept.is_ours:
        return ["The checkpoint was changed or written with another key."]
    if kept.number == 0:
        return []
    there = AuditEntry.objects.filter(number=kept.number).first()
    if there is None:
        last = AuditEntry.objects.order_by("-number").values_list("number", flat=True).first() or 0
        return [f"The record ends at {last}; on {kept.at} it went on to {kept.number}."]
    if there.link != kept.link:
        return [f"The record up to {kept.number} is not the one of {kept.at}."]
    return []


def _link(before: str, number: int, code: str) -> str:
    return keys.code("link", before, number, code)


def _said(entry: AuditEntry) -> tuple[Any, ...]:
    return tuple(getattr(entry, name) for name in entries.SAID)


def _missing(first: int, last: int) -> str:
    gone = f"{first}" if last - first == 1 else f"{first} to {last - 1}"
    return f"The record lacks {gone}."


def _named(entry: AuditEntry) -> str:
    about = " ".join(filter(None, [entry.kind, entry.what[:60], entry.request_id or entry.run_id]))
    return f"Line {entry.number} of the record ({about})"
