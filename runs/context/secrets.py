"""Takes out of text what must not leave the site: its own secrets, and what looks like one."""

from django.conf import settings

from runs.domain.values.redaction import redact

_SECRETS = (
    "SECRET_KEY",
    "FABER_GITHUB_TOKEN",
    "FABER_GITHUB_APP_KEY",
    "FABER_GITHUB_WEBHOOK_SECRET",
    "FABER_GITHUB_CLIENT_SECRET",
)


def concealed(text: str) -> str:
    return redact(text, (str(getattr(settings, name)) for name in _SECRETS))
