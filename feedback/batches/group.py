"""Runs that are answered together: a batch, or whichever somebody named."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet
from django.shortcuts import resolve_url
from django.utils import timezone

from runs.accounts import membership
from runs.domain.planning import batch as rules
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, Problem
from runs.engine.find import find_run
from runs.models import Batch, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Runs that somebody named; nothing of it is kept but the answers."""

    run_ids: tuple[str, ...]
    pks: tuple[int, ...]

    @property
    def batch_id(self) -> str:
        """By what an answer tells which runs were answered with it; the same all day."""
        named = hashlib.sha256(" ".join(sorted(self.run_ids)).encode()).hexdigest()
        return f"coord-{timezone.now():%Y%m%d}-{named[:6]}"


Group = Batch | Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where the pages of a group are."""

    page: str
    draft: str
    paste: str
    prompt: str

    def with_query(self, **query: object) -> str:
        return f"{self.page}{'&' if '?' in self.page else '?'}{urlencode(query)}"


def within(group: Group, path: str = "") -> Q:
    """What belongs to the group; `path` is the way from a row to its run."""
    if isinstance(group, Batch):
        return Q(**{f"{path}__batch" if path else "batch": group})
    return Q(**{f"{path or 'pk'}__in": group.pks})


def runs_of(group: Group) -> QuerySet[Run]:
    return Run.objects.filter(within(group))


def links_of(group: Group) -> Links:
    names = {"page": "", "draft": "-draft", "paste": "-paste", "prompt": "-prompt"}
    if isinstance(group, Batch):
        return Links(
            **{k: resolve_url(f"batch{name}", group.batch_id) for k, name in names.items()}
        )
    runs = urlencode({"runs": ",".join(id_.rpartition("/")[2] for id_ in group.run_ids)})
    return Links(**{k: f"{resolve_url(f'selection{name}')}?{runs}" for k, name in names.items()})


def selected(references: Iterable[str], *, seen_by: Actor | None) -> Selection:
    """The runs that are named, by commas or one by one; nobody in `seen_by` sees every run."""
    names = list(dict.fromkeys(name for text in references for name in rules.listed(text)))
    if not names:
        raise Invalid([Problem("runs", "give at least one")])
    if len(names) > rules.MOST_RUNS:
        too_many = (
            f"{len(names)} are too many. At most {rules.MOST_RUNS} runs can be answered together"
        )
        raise Invalid([Problem("runs", too_many)])
    whole = _named_in_full(names, seen_by)
    found = [whole.get(name.lower()) or find_run(name, seen_by=seen_by) for name in names]
    runs = sorted({run.pk: run for run in found}.values(), key=lambda run: run.pk)
    return Selection(run_ids=tuple(run.run_id for run in runs), pks=tuple(run.pk for run in runs))


def _named_in_full(names: Iterable[str], seen_by: Actor | None) -> dict[str, Run]:
    """Ids and uuids → their runs, with one look at the table for all of them."""
    ids = [name.lower() for name in names]
    wanted = Q(run_id__in=ids) | Q(uuid__in=[id_ for id_ in ids if _is_uuid(id_)])
    runs = Run.objects.filter(wanted).only("run_id", "uuid")
    seen = membership.sight_of(seen_by).of(runs) if seen_by else runs
    return {name: run for run in seen for name in (run.run_id, str(run.uuid))}


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
