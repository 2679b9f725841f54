"""Whether the machines of the site fit together: their keys, names, clocks and folders."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runs.jobs import register
from runs.models import SiteHost, machine, places

MOST_SKEW = 2.0  # seconds


class Matter(StrEnum):
    """What machines have to agree about; the words are for everybody, without names."""

    KEYS = "Machines of this site use different keys, so they cannot read each other's jobs."
    QUEUES = "Machines of this site use different queues, so they don't see each other's jobs."
    NAMES = "Two machines of this site have the same name."
    CLOCKS = "The clock of a machine is more than 2 s off."
    FOLDERS = "A machine does not have the folder of a project."

    @property
    def is_fatal(self) -> bool:
        """Whether a machine that disagrees may not start."""
        return self in (Matter.KEYS, Matter.QUEUES, Matter.NAMES)


@dataclass(frozen=True, slots=True)
class _Same:
    """What has to be the same on every machine, by its column."""

    about: Matter
    column: str
    called: str
    consequence: str
    repair: str

    def of(self, host: SiteHost) -> str:
        return str(getattr(host, self.column))


_COPY = (
    "Copy the file {} of one data directory to all others, or set the same {} everywhere,"
    " and restart."
)
_SAME = (
    _Same(
        *(Matter.KEYS, "secret_key", "secret keys", "they can't read each other's jobs"),
        _COPY.format("secret_key", "FABER_SECRET_KEY"),
    ),
    _Same(
        *(Matter.KEYS, "audit_key", "audit keys", "the record cannot be verified"),
        _COPY.format("audit_key", "FABER_AUDIT_KEY"),
    ),
    _Same(
        *(Matter.QUEUES, "queue", "queues", "they don't see each other's jobs"),
        "Set the same FABER_QUEUE and FABER_CELERY_BROKER_URL everywhere, and restart.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    about: Matter
    what: str
    cause: str
    repair: str
    hosts: tuple[SiteHost, ...]  # whom it concerns

    def __str__(self) -> str:
        return f"{self.what}: {self.cause}. {self.repair}"

    @property
    def is_ours(self) -> bool:
        return any(map(register.is_this, self.hosts))


def disagreements(own: SiteHost | None = None) -> list[Disagreement]:
    """What the machines that are there disagree about; nothing where there can be only one."""
    if not machine.is_one_of_many():
        return []
    own, living = own or register.this_machine(), register.living()
    hosts = [own, *(host for host in living if not register.is_this(host))]
    return [*_settings(own, living), *_names(hosts), *_clocks(hosts), *_folders(hosts)]


def _settings(own: SiteHost, living: Sequence[SiteHost]) -> Iterator[Disagreement]:
    """Those of a command may differ even from those of a worker on the same machine."""
    for same in _SAME:
        named = defaultdict(list)
        for host in living:
            if not (register.is_this(host) and same.of(host) == same.of(own)):
                named[same.of(host)].append(host.name)
        named[same.of(own)].append(f"{own.name} (this process)")
        if len(named) > 1:
            groups = sorted(", ".join(names) for names in named.values())
            yield Disagreement(
                about=same.about,
                what=f"The machines of this site use different {same.called}",
                cause=f"{' and '.join(groups)} differ, so {same.consequence}",
                repair=same.repair,
                hosts=(own, *living),
            )


def _names(hosts: Sequence[SiteHost]) -> Iterator[Disagreement]:
    named = defaultdict(list)
    for host in filter(register.has_workers, hosts):  # others name nothing by it
        named[host.name].append(host)
    for name, group in named.items():
        if len({host.identity for host in group}) > 1:
            yield Disagreement(
                about=Matter.NAMES,
                what=f"Two machines have the name {name}",
                cause="they have different data directories, and each mistakes the other's steps "
                "for its own",
                repair="Change one host name, or set FABER_MACHINE_NAME.",
                hosts=tuple(group),
            )


def _clocks(hosts: Sequence[SiteHost]) -> Iterator[Disagreement]:
    for host in hosts:
        if abs(host.clock_ahead) > MOST_SKEW:
            way = "ahead of" if host.clock_ahead > 0 else "behind"
            yield Disagreement(
                about=Matter.CLOCKS,
                what=f"The clock of {host.name} is {abs(host.clock_ahead):.1f} s {way} "
                "the database's",
                cause=f"its times are off by more than {MOST_SKEW:g} s",
                repair="Synchronize both clocks with chrony or systemd-timesyncd.",
                hosts=(host,),
            )


def _folders(hosts: Sequence[SiteHost]) -> Iterator[Disagreement]:
    working = [host for host in hosts if register.has_workers(host)]
    for host in working:
        for folder in host.lacks:
            having = [other.name for other in working if folder not in other.lacks]
            if having:
                yield Disagreement(
                    about=Matter.FOLDERS,
                    what=f"{host.name} has no folder {places.found(folder)}",
                    cause=f"only {', '.join(having)} can execute steps there",
                    repair=f"Clone or mount it on {host.name}, or ignore this.",
                    hosts=(host,),
                )
