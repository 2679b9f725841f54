"""Keeps what each attempt was told: packed in the package's row, large parts once by their hash."""

import hashlib
import json
import zlib
from dataclasses import dataclass

from runs.context import packing
from runs.context.package import compare, digest_of, texts_of
from runs.domain.values.errors import NotFound
from runs.models import ContextPackage, ContextPart, Run, StepAttempt
from runs.models.statements import insert

__all__ = [
    "KeptPackage",
    "compare",
    "digest_of",
    "keep",
    "load",
    "newest",
    "number_of",
    "numbered",
    "overview_of",
    "prepared",
    "store",
]

INLINE_BYTES = 4096
# What stays the same from step to step; the rest is another every time, and stands in the row.
LASTING = ("metadata", "spec", "issue", "documents")
OVERVIEW = packing.OVERVIEW
_CHANGED = "The package cannot be read: it was changed."
_READ_AT_ONCE = packing.LONGEST_CHAIN + 1

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class KeptPackage:
    """A package as it is kept, with its texts: the next one is kept as what differs from it."""

    row: ContextPackage
    texts: packing.Texts

    @property
    def depth(self) -> int:
        return packing.head_of(bytes(self.row.content or b"")).depth


def store(attempt: StepAttempt, package: Json) -> ContextPackage:
    """Keep the package of an attempt; a large part that is there already is not written again."""
    kept = prepared(attempt, package)
    keep(kept, attempt)
    return kept.row


def prepared(attempt: StepAttempt, package: Json, before: KeptPackage | None = None) -> KeptPackage:
    """The row of a package whose attempt may not be there yet; its large parts are kept."""
    # As text, because a database may sort the keys of JSON and refuse a NUL in it.
    texts = texts_of(package)
    large = {name: text for name, text in texts.items() if _is_large(name, text)}
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in large.items()}
    if large:
        _keep({digests[name]: text for name, text in large.items()})
    inline = {name: "" if name in large else text for name, text in texts.items()}
    row = ContextPackage(
        run_id=attempt.run_id,
        digest=digest_of(package, texts),
        manifest={"parts": digests} if large else {},
        content=_packed(inline, before),
    )
    return KeptPackage(row, inline)


def keep(kept: KeptPackage, attempt: StepAttempt) -> None:
    kept.row.attempt = attempt
    insert(kept.row)


def load(row: ContextPackage) -> Json:
    """The package exactly as it was given."""
    parts: dict[str, str] = row.manifest.get("parts", {})
    kept = ContextPart.objects.in_bulk(list(parts.values())) if parts else {}
    lost = [name for name, digest in parts.items() if digest not in kept]
    if lost:
        raise NotFound(f"Parts of the package are lost: {', '.join(lost)}.")
    texts = _inline(row) | {
        name: zlib.decompress(kept[digest].content).decode() for name, digest in parts.items()
    }
    package = _read({name: texts[name] for name in row.manifest.get("order", texts)})
    if digest_of(package) != row.digest:
        raise NotFound(_CHANGED)
    return package


def _read(texts: packing.Texts) -> Json:
    try:
        return {name: json.loads(text) for name, text in texts.items()}
    except ValueError as error:
        raise NotFound(_CHANGED) from error


def overview_of(content: bytes) -> Json:
    """What a package is listed by, without the rest of it."""
    return {name: json.loads(text) for name, text in packing.overview_of(content).items()}


def _packed(texts: packing.Texts, before: KeptPackage | None) -> bytes:
    if before is None or before.depth >= packing.LONGEST_CHAIN or not before.row.pk:
        return packing.pack(texts)
    return packing.pack(texts, before.texts, key=before.row.pk, depth=before.depth + 1)


def _inline(row: ContextPackage) -> packing.Texts:
    """The texts in its own row; one of an earlier release has them as they are."""
    if not row.content:
        texts: packing.Texts = row.manifest["inline"]
        return texts
    chain = _chain(row)
    base: packing.Texts | None = None
    try:
        for content in chain:
            base = packing.unpack(content, base)
    except packing.DamagedContent as error:
        raise NotFound(_CHANGED) from error
    return base or {}


def _chain(row: ContextPackage) -> list[bytes]:
    """What must be unpacked for a package, in order; it is the last of it."""
    content = bytes(row.content or b"")
    if not packing.head_of(content).base:
        return [content]
    earlier = ContextPackage.objects.filter(run_id=row.run_id, pk__lt=row.pk).order_by("-pk")
    rows = earlier.values_list("pk", "content")[:_READ_AT_ONCE]
    known = {pk: bytes(kept) for pk, kept in rows if kept}
    chain = [content]
    while base := packing.head_of(chain[-1]).base:
        if base not in known:
            raise NotFound("The package cannot be read: the one before it is gone.")
        chain.append(known[base])
    return chain[::-1]


def numbered(run: Run, number: int) -> ContextPackage:
    """A run's package by its number; they count from 1."""
    run.check_kept()
    count = run.packages.count()
    if not 1 <= number <= count:
        raise NotFound(_none_such(run, number, count))
    return run.packages.order_by("id")[number - 1]


def newest(run: Run) -> ContextPackage | None:
    run.check_kept()
    return run.packages.order_by("id").last()


def number_of(row: ContextPackage) -> int:
    return ContextPackage.objects.filter(run_id=row.run_id, pk__lte=row.pk).count()


def _is_large(name: str, text: str) -> bool:
    return len(text) > INLINE_BYTES and name in LASTING


def _keep(texts: dict[str, str]) -> None:
    # Asking first costs less than compressing and sending what is there.
    known = ContextPart.objects.filter(digest__in=texts).values_list("digest", flat=True)
    missing = texts.keys() - set(known)
    if missing:
        ContextPart.objects.bulk_create(
            [_part(each, texts[each]) for each in missing], ignore_conflicts=True
        )


def _part(digest: str, text: str) -> ContextPart:
    return ContextPart(digest=digest, content=zlib.compress(text.encode(), 1), size=len(text))


def _none_such(run: Run, number: int, count: int) -> str:
    if not count:
        return f"The run {run.run_id} has no context package yet."
    have = "1 package" if count == 1 else f"{count} packages"
    return f"The run {run.run_id} has {have}; there is no package {number}."
