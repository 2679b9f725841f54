"""What of this site its steps may not see."""

from pathlib import Path
from typing import cast

from django.conf import settings
from django.db import connection

from runs.isolation.sheltering import Isolation, Mode


def isolation() -> Isolation:
    return Isolation(
        mode=cast("Mode", settings.FABER_STEP_ISOLATION),
        data=Path(settings.FABER_DATA_DIR).resolve(),
        database=_sqlite_file(),
        door=settings.FABER_STEP_DOOR,
    )


def _sqlite_file() -> Path | None:
    if connection.vendor != "sqlite":
        return None
    return Path(connection.settings_dict["NAME"]).resolve()
