"""Wakes an idle cluster when a job was queued, so that it need not look every moment."""

import hashlib
import os
import select
import socket
import tempfile
import time
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.db import connections, transaction

from runs.jobs.table import Lane

CHANNELS = {Lane.STEPS: "faber_jobs", Lane.SHORT: "faber_short_jobs"}
# The address of a socket holds 108 bytes, 104 on a Mac; lane and process id follow the folder.
LONGEST_FOLDER = 90


class Listener(Protocol):
    """Where one process waits to be woken."""

    def wait(self, seconds: float) -> None: ...

    def close(self) -> None: ...


def wake(alias: str, lane: Lane) -> None:
    """Wake every cluster that waits for jobs of a lane when the caller's transaction commits."""
    connection = connections[alias]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [CHANNELS[lane]])
    else:
        transaction.on_commit(lambda: _knock(lane), using=alias)


def listen(alias: str, lane: Lane) -> Listener:
    """Hear every wake-up call from now on, also those that come before the first wait."""
    if connections[alias].vendor == "postgresql":
        return NotifiedListener(alias, lane)
    try:
        return SocketListener(lane)
    except OSError:  # a file system without sockets
        return SilentListener()


class NotifiedListener:
    """PostgreSQL carries the call to every host."""

    def __init__(self, alias: str, lane: Lane) -> None:
        # Not the broker's connection, which Django closes when it is old; the same parameters.
        self._connection = connections.create_connection(alias)
        with self._connection.cursor() as cursor:
            cursor.execute(f"LISTEN {CHANNELS[lane]}")

    def wait(self, seconds: float) -> None:
        with self._connection.wrap_database_errors:
            for _ in self._connection.connection.notifies(timeout=seconds, stop_after=1):
                pass

    def close(self) -> None:
        self._connection.close()


class SocketListener:
    """Each process has a socket for each lane, so that nobody takes another's calls."""

    def __init__(self, lane: Lane) -> None:
        folder = _folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        self._path = folder / f"{_prefix(lane)}{os.getpid()}"
        self._open()

    def wait(self, seconds: float) -> None:
        if not self._path.exists():  # cleared away; without it nobody could be woken again
            self.close()
            self._open()
        select.select([self._socket], [], [], seconds)
        try:
            while self._socket.recv(16):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _open(self) -> None:
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind(str(self._path))
        self._path.chmod(0o600)


class SilentListener:
    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None: ...


def _knock(lane: Lane) -> None:
    try:
        doors = [door for door in _folder().iterdir() if door.name.startswith(_prefix(lane))]
    except FileNotFoundError:  # no cluster has been here yet
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as knocker:
        knocker.setblocking(False)
        for door in doors:
            try:
                knocker.sendto(b"1", str(door))
            except ConnectionRefusedError:  # its process is gone
                door.unlink(missing_ok=True)
            except OSError:  # too many calls unheard: it is awake
                continue


def _prefix(lane: Lane) -> str:
    return f"{lane.name.lower()}-"


def _folder() -> Path:
    folder = Path(settings.FABER_DATA_DIR) / "wakeups"
    if len(os.fsencode(folder)) <= LONGEST_FOLDER:
        return folder
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"faber-wakeups-{name}"
