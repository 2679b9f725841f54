"""What of this site its steps may not see."""

from functools import lru_cache
from pathlib import Path
from typing import cast

from django.conf import settings
from django.db import connection

from runs.isolation.sheltering import Isolation, Mode


def isolation() -> Isolation:
    return Isolation(
        mode=cast("Mode", settings.FABER_STEP_ISOLATION),
        data=_resolved(settings.FABER_DATA_DIR),
        database=_sqlite_file(),
        door=settings.FABER_STEP_DOOR,
    )


def _sqlite_file() -> Path | None:
    if connection.vendor != "sqlite":
        return None
    return _resolved(connection.settings_dict["NAME"])


@lru_cache(maxsize=8)
def _resolved(path: str | Path) -> Path:
    return Path(path).resolve()
