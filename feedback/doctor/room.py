"""Room on the disk, while there is still some."""

from collections.abc import Iterator

from feedback.doctor.finding import Finding
from feedback.upkeep import disk
from runs.terminal.layout import size


def findings() -> Iterator[Finding]:
    used = disk.use()
    if used.is_short:
        yield Finding(
            what="The disk is almost full",
            cause=f"{size(used.free)} of {size(used.total)} are free where the data directory is, "
            f"and the database has {size(used.database)}",
            since=None,
            repair="Make room, for example with `faber prune --older-than 90d`.",
        )


def told() -> str:
    used = disk.use()
    return f"The database has {size(used.database)}; {size(used.free)} are free."
