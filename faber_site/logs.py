"""How the site's own processes write their logs."""

import logging
from functools import cache

from django.conf import settings


class SecretFree(logging.Formatter):
    """A line as usual, with its traceback, without what only looks like a secret or is one."""

    def format(self, record: logging.LogRecord) -> str:
        from runs.domain.values.secrets.redaction import redact  # noqa: PLC0415  not at every start

        return redact(super().format(record), _own())


@cache
def _own() -> tuple[str, ...]:
    from runs.domain.values.secrets.redaction import SECRET_SETTINGS  # noqa: PLC0415

    return tuple(str(getattr(settings, name)) for name in SECRET_SETTINGS)
