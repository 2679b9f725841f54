"""Takes out of text what must not leave the site: its own secrets, and what looks like one."""

from django.conf import settings

from runs.domain.values.redaction import SECRET_SETTINGS, redact


def concealed(text: str) -> str:
    own = [str(getattr(settings, name)) for name in SECRET_SETTINGS]
    return redact(text, [*own, str(settings.DATABASES["default"].get("PASSWORD") or "")])
