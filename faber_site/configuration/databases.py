"""Django's database settings; their options are what keeps an answer once it was taken."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from faber_site.configuration import extras

_POSTGRES = ("postgres", "postgresql")
# Django's names for what libpq finds in an address; whatever else stands there is an option.
_PARTS = {
    "NAME": "dbname",
    "USER": "user",
    "PASSWORD": "password",
    "HOST": "host",
    "PORT": "port",
}


def settings_for(url: str, sqlite_file: Path) -> dict[str, object]:
    scheme = url.partition("://")[0]
    if scheme in _POSTGRES:
        return _postgres(url)
    if url and scheme != "sqlite":
        # Without the rest: it may hold a password.
        raise _refusal(f"{scheme}://…")
    return _sqlite(Path(url.removeprefix("sqlite:///")) if url else sqlite_file)


def _postgres(url: str) -> dict[str, object]:
    extras.need("postgres", "psycopg", because="PostgreSQL")
    import psycopg  # noqa: PLC0415  not in every installation

    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise _refusal(f"{url.partition('://')[0]}://…") from error
    named = {key: str(parts.pop(name, "")) for key, name in _PARTS.items()}
    # No pool: the worker forks, and a pool's sockets must not be shared between processes.
    # Connections last, so the few statements of a step are worth preparing.
    options = {"server_side_binding": True, "prepare_threshold": 3}
    return {
        **named,
        "ENGINE": "faber_site.postgres",
        "OPTIONS": {**options, **parts},
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }


def _sqlite(file: Path) -> dict[str, object]:
    return {
        "ENGINE": "faber_site.sqlite",
        "NAME": file,
        # The queue asks for a connection at every look; opening the file anew costs more than that.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }


def _refusal(shown: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"FABER_DATABASE_URL={shown!r} is not accepted; use postgres://… or sqlite:///…."
    )
