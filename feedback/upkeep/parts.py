"""Parts of context packages that no package refers to any more."""

from collections.abc import Iterator

from django.db.models import Max

from runs.models import ContextPackage, ContextPart

_AT_ONCE = 100


def drop_loose() -> int:
    """Remove them; one that somebody begins to use in this moment is put back."""
    newest = _newest()  # before the look: whatever comes after it is looked at again
    used = _used()
    every = ContextPart.objects.order_by("digest").values_list("digest", flat=True)
    loose = [digest for digest in every.iterator() if digest not in used]
    removed = 0
    for start in range(0, len(loose), _AT_ONCE):
        some = list(ContextPart.objects.filter(digest__in=loose[start : start + _AT_ONCE]))
        ContextPart.objects.filter(digest__in=[part.digest for part in some]).delete()
        # A package that found its part there a moment ago does not write it again.
        again = _used(since=newest)
        back = [part for part in some if part.digest in again]
        ContextPart.objects.bulk_create(back, ignore_conflicts=True)
        removed += len(some) - len(back)
    return removed


def _used(since: int = 0) -> set[str]:
    return set(_digests(since))


def _digests(since: int) -> Iterator[str]:
    rows = ContextPackage.objects.filter(pk__gt=since).order_by()
    for found in rows.values_list("manifest__parts", flat=True).iterator():
        yield from (found or {}).values()


def _newest() -> int:
    return ContextPackage.objects.aggregate(newest=Max("pk"))["newest"] or 0
