"""How much room the site takes, and how much is left."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """In bytes."""

    database: int
    free: int  # where the data directory is
    total: int

    @property
    def is_short(self) -> bool:
        """Whether less is left than a busy day may need."""
        return self.free < min(1024**3, self.total // 20)


def use() -> Disk:
    place = shutil.disk_usage(settings.FABER_DATA_DIR)
    return Disk(database=_database(), free=place.free, total=place.total)


def _database() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            row: tuple[int] = cursor.fetchone()
        return row[0]
    file = Path(str(connection.settings_dict["NAME"]))
    beside = (file, file.with_name(f"{file.name}-wal"))
    return sum(each.stat().st_size for each in beside if each.exists())
