"""Be one machine of a site and then another, in one process and on one database."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from runs.jobs import register
from runs.models import SiteHost, clock

# What only several machines do is done only where a database can be shared.
ON_SHARED_DATABASE = [
    pytest.mark.postgres,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is of one machine"),
]

Become = Callable[[str], Path]


def becoming(settings: Settings, folder: Path) -> Become:
    """A function that makes this process the machine of a name; it gives its data directory."""

    def become(name: str) -> Path:
        data = folder / name
        data.mkdir(mode=0o700, exist_ok=True)
        settings.FABER_MACHINE_NAME, settings.FABER_DATA_DIR = name, data
        register.tell(register.this_machine(works=True))
        return data

    return become


def was_last_seen(name: str, ago: timedelta) -> None:
    then = clock.now() - ago
    SiteHost.objects.filter(name=name).update(began_at=then, seen_at=then, worked_at=then)
