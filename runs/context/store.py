"""Keeps what each attempt was told: small parts in the package's row, large ones once by hash."""

import hashlib
import json
import zlib

from runs.context.package import compare, digest_of, texts_of
from runs.domain.values.errors import NotFound
from runs.models import ContextPackage, ContextPart, Run, StepAttempt
from runs.models.statements import insert

__all__ = ["compare", "digest_of", "load", "newest", "number_of", "numbered", "store"]

INLINE_BYTES = 4096
# What stays the same from step to step; the rest is another every time, and stands in the row.
LASTING = ("metadata", "spec", "issue", "documents")
# By which packages are listed, without fetching their parts.
OVERVIEW = ("sources", "notes", "left_out", "duration_ms")

Json = dict[str, object]


def store(attempt: StepAttempt, package: Json) -> ContextPackage:
    """Keep the package of an attempt; a large part that is there already is not written again."""
    # As text, because a database may sort the keys of JSON and refuse a NUL in it.
    texts = texts_of(package)
    large = {name: text for name, text in texts.items() if _is_large(name, text)}
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in large.items()}
    if large:
        _keep({digests[name]: text for name, text in large.items()})
    package_row = ContextPackage(
        run_id=attempt.run_id,
        attempt=attempt,
        digest=digest_of(package, texts),
        manifest={
            "order": list(package),
            "inline": {name: text for name, text in texts.items() if name not in large},
            "parts": digests,
        },
    )
    insert(package_row)
    return package_row


def load(row: ContextPackage) -> Json:
    """The package exactly as it was given."""
    manifest = row.manifest
    kept = ContextPart.objects.in_bulk(list(manifest["parts"].values()))
    lost = [name for name, digest in manifest["parts"].items() if digest not in kept]
    if lost:
        raise NotFound(f"Parts of the package are lost: {', '.join(lost)}.")
    texts = manifest["inline"] | {
        name: zlib.decompress(kept[digest].content).decode()
        for name, digest in manifest["parts"].items()
    }
    return {name: json.loads(texts[name]) for name in manifest["order"]}


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
