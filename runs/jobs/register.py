"""The machines of the site: each tells of itself, and sees which of the others are there."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from runs.jobs import queue
from runs.models import Project, SiteHost, clock, machine, places

SIGN_SECONDS = 5.0
# Whoever told of itself within this time is there.
LIVING = timedelta(seconds=15)
# A machine that restarts is back by then; what only it can do waits so long.
GONE = timedelta(minutes=2)
FORGOTTEN = timedelta(days=30)
MOST_FOLDERS = 500


def this_machine(*, works: bool = False) -> SiteHost:
    """What there is to tell of this machine; nobody is told yet."""
    known, now = _own_row().first() or SiteHost(worked_at=None), clock.now()
    return SiteHost(
        identity=machine.identity(),
        name=machine.name(),
        secret_key=machine.key_mark(settings.SECRET_KEY),
        audit_key=machine.key_mark(settings.FABER_AUDIT_KEY),
        queue=settings.FABER_QUEUE,
        clock_ahead=_clock_ahead(),
        lacks=known.lacks,
        labels=sorted(settings.FABER_WORKER_LABELS),
        began_at=now,
        seen_at=now,
        worked_at=now if works else known.worked_at,
    )


def tell(own: SiteHost) -> None:
    """Sign for being there, with what is known of this machine."""
    SiteHost.objects.bulk_create(
        [own],
        update_conflicts=True,
        unique_fields=["identity", "name"],
        update_fields=[
            *("secret_key", "audit_key", "queue", "clock_ahead"),
            *("lacks", "labels", "seen_at", "worked_at"),
        ],
    )


def leave() -> None:
    """Nobody need wait to see whether this machine is still there."""
    _own_row().update(seen_at=Now() - GONE)


def living() -> list[SiteHost]:
    """The machines that are there."""
    return list(SiteHost.objects.filter(seen_at__gt=clock.now() - LIVING).order_by("name", "pk"))


def others() -> list[SiteHost]:
    """Those besides this one."""
    return [host for host in living() if not is_this(host)]


def is_this(host: SiteHost) -> bool:
    return (host.identity, host.name) == (machine.identity(), machine.name())


def has_workers(host: SiteHost) -> bool:
    """Whether a machine that is there executes steps."""
    return host.worked_at is not None and host.worked_at > host.seen_at - LIVING


def has_others() -> bool:
    """Whether other machines execute steps of this site, or did within the last weeks."""
    rows = SiteHost.objects.filter(worked_at__isnull=False)
    return rows.exclude(identity=machine.identity()).exists()


def last_worked(host: str) -> datetime | None:
    """When workers of a machine were last there; None when nobody knows of any."""
    rows = SiteHost.objects.filter(name=host, worked_at__isnull=False).order_by("-worked_at")
    return rows.values_list("worked_at", flat=True).first()


def may_come_back(host: str) -> bool:
    """Whether a machine has workers, or had them so lately that they are worth waiting for."""
    worked = last_worked(host)
    return worked is not None and worked > clock.now() - GONE


def was_called(host: str, identity: str) -> bool:
    """Whether this machine had that name before: its data directory had, and never both at once."""
    if identity != machine.identity():
        return False
    own = _own_row().first()
    before = SiteHost.objects.filter(identity=identity, name=host).first()
    return before is None or (own is not None and before.seen_at <= own.began_at)


def with_folder(folder: str) -> list[str]:
    """Other machines with workers that may have this folder."""
    return [host.name for host in others() if has_workers(host) and folder not in host.lacks]


def with_labels(needed: Collection[str]) -> list[str]:
    """Other machines with workers that have all these labels."""
    return [host.name for host in others() if has_workers(host) and set(needed) <= set(host.labels)]


def note_missing(folder: str) -> None:
    """Tell the others that this machine does not have a folder."""
    for row in _own_row():
        if folder not in row.lacks:
            SiteHost.objects.filter(pk=row.pk).update(lacks=[*row.lacks, folder][-MOST_FOLDERS:])


def catch_up() -> None:
    """Let others have what waits for machines that are gone, and forget those long gone."""
    now = clock.now()
    SiteHost.objects.filter(seen_at__lt=now - FORGOTTEN).delete()
    rows = list(SiteHost.objects.values_list("name", "worked_at"))
    working = {name for name, worked in rows if worked and worked > now - GONE}
    if gone := {name for name, _ in rows} - working:
        queue.take_from(gone)


def missing(noted: Iterable[str]) -> list[str]:
    """Folders of projects, and those asked for before, that are not on this machine."""
    # What lies in a data directory, by its place in it, is on one machine only.
    outside = Q(workspace__startswith="/")
    wanted = Project.objects.filter(outside).values_list("workspace", flat=True)
    folders = dict.fromkeys([*noted, *wanted])
    return [folder for folder in folders if not places.found(folder).is_dir()][-MOST_FOLDERS:]


def _own_row() -> QuerySet[SiteHost]:
    return SiteHost.objects.filter(identity=machine.identity(), name=machine.name())


def _clock_ahead() -> float:
    """By how many seconds this machine's clock is ahead of the database's."""
    before = timezone.now()
    there = clock.now()
    between = before + (timezone.now() - before) / 2
    return round((between - there).total_seconds(), 3)
