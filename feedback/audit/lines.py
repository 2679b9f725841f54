"""The record as it is listed: decisions, refusals, sign-ins and changed rules, line by line."""

import csv
from collections.abc import Iterable, Iterator

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Lower

from feedback.audit.decisions import DecisionFilter, Echo, harmless
from feedback.models import FeedbackRequest
from runs.accounts.membership import Sight
from runs.domain.values.events import timestamp
from runs.models import AuditEntry, AuditKind, Project
from runs.models.audit import RARE, of_rare, retractions

_THREADS = (AuditKind.INQUIRY, AuditKind.REPLY)
LISTED = (AuditKind.DECISION, AuditKind.REFUSAL, AuditKind.SIGN_IN, AuditKind.RULE, *_THREADS)
# What a project's members may read; the rest is about the site.
_OF_PROJECTS = (AuditKind.DECISION, AuditKind.REFUSAL, *_THREADS)

COLUMNS = (
    *("kind", "at", "who", "account", "channel", "what", "comment", "run_id", "request_id"),
    *("reason", "imported", "override", "timed_out"),
)
_MARKS = ("imported", "override", "timed_out")


def found(wanted: DecisionFilter) -> QuerySet[AuditEntry]:
    """The lines, oldest first."""
    lines = AuditEntry.objects.filter(kind__in=[wanted.kind] if wanted.kind else LISTED)
    if wanted.kind in RARE:
        lines = of_rare(lines)
    exact = {
        "run_id": wanted.run and wanted.run.run_id,
        "project__iexact": wanted.project,
        "channel": wanted.source,
        "at__gte": wanted.since,
        "at__lt": wanted.until,
    }
    lines = lines.filter(**{key: value for key, value in exact.items() if value})
    if wanted.user:
        lines = lines.filter(Q(who__iexact=wanted.user) | Q(account__iexact=wanted.user))
    if wanted.type:
        asked = FeedbackRequest.objects.filter(type=wanted.type)
        lines = lines.filter(request_id__in=asked.values("request_id"))
    if wanted.text:
        lines = lines.filter(_said(wanted.text))
    taken_back = retractions(AuditEntry.objects.filter(subject=OuterRef("subject")))
    return (
        _seen(lines, wanted.sight)
        .annotate(is_retracted=Exists(taken_back.exclude(subject="")))
        .order_by("at", "id")
    )


def newest_refusals(sight: Sight, most: int) -> list[AuditEntry]:
    return list(found(DecisionFilter(kind=AuditKind.REFUSAL, sight=sight)).reverse()[:most])


def shape(line: AuditEntry) -> dict[str, object]:
    return {
        "kind": line.kind,
        "at": timestamp(line.at),
        "who": line.who,
        "account": line.account,
        "channel": line.channel,
        "what": line.what,
        "comment": line.comment,
        "run_id": line.run_id,
        "request_id": line.request_id,
        "reason": line.reason or ("taken back" if getattr(line, "is_retracted", False) else ""),
        **{mark: line.marks.get(mark, False) for mark in _MARKS},
    }


def csv_lines(lines: Iterable[AuditEntry], *, ending: str = "\r\n") -> Iterator[str]:
    """One line after another, the names of the columns first; the whole is never in memory."""
    writer = csv.writer(Echo(), lineterminator=ending)
    yield writer.writerow(COLUMNS)
    for line in lines:
        told = shape(line)
        yield writer.writerow([harmless(told[column]) for column in COLUMNS])


def _seen(lines: QuerySet[AuditEntry], sight: Sight) -> QuerySet[AuditEntry]:
    if sight.is_site:
        return lines
    names = sight.of(Project.objects.all(), "pk").annotate(folded=Lower("name")).values("folded")
    known = lines.filter(kind__in=_OF_PROJECTS).annotate(folded=Lower("project"))
    return known.filter(folded__in=names)


def _said(text: str) -> Q:
    asked = FeedbackRequest.objects.filter(
        Q(prompt__icontains=text) | Q(run__work_id__iexact=text.removeprefix("#") or text)
    )
    return (
        Q(comment__icontains=text)
        | Q(what__icontains=text)
        | Q(reason__icontains=text)
        | Q(request_id__icontains=text)
        | Q(run_id__icontains=text)
        | Q(request_id__in=asked.values("request_id"))
    )
