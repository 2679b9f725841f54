"""Sends errors of the site's own processes to Sentry: what broke and where, and no secrets."""

import logging
from importlib.metadata import version
from typing import Any

from django.conf import settings

from faber_site.monitoring.logs import concealed
from runs.jobs import log_context

# What Sentry would know of a request besides these says who asked, and with which secrets.
_OF_A_REQUEST = ("method", "url")
_NOT_TOLD = ("user", "extra", "breadcrumbs", "modules")


def send() -> None:
    """From here on, where it is set; without it nothing of Sentry is loaded."""
    if not settings.FABER_SENTRY_DSN:
        return
    import sentry_sdk  # noqa: PLC0415  takes time, and is not always installed
    from sentry_sdk.integrations.atexit import AtexitIntegration  # noqa: PLC0415
    from sentry_sdk.integrations.dedupe import DedupeIntegration  # noqa: PLC0415
    from sentry_sdk.integrations.django import DjangoIntegration  # noqa: PLC0415
    from sentry_sdk.integrations.excepthook import ExcepthookIntegration  # noqa: PLC0415
    from sentry_sdk.integrations.logging import LoggingIntegration  # noqa: PLC0415
    from sentry_sdk.integrations.threading import ThreadingIntegration  # noqa: PLC0415

    sentry_sdk.init(
        dsn=settings.FABER_SENTRY_DSN,
        release=f"faber-review@{version('faber-review')}",
        server_name=settings.FABER_MACHINE_NAME,
        # Not those by default: one of them changes the environment of every program.
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[
            DjangoIntegration(middleware_spans=False, signals_spans=False),
            LoggingIntegration(level=None, event_level=logging.ERROR),
            DedupeIntegration(),
            ExcepthookIntegration(),
            ThreadingIntegration(),
            AtexitIntegration(callback=lambda _pending, _timeout: None),  # it would write a line
        ],
        before_send=_harmless,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        auto_session_tracking=False,
        enable_logs=False,
    )


def _harmless(event: Any, _hint: Any) -> Any:
    kept = {name: value for name, value in event.items() if name not in _NOT_TOLD}
    if "request" in kept:
        asked = kept["request"]
        kept["request"] = {name: asked[name] for name in _OF_A_REQUEST if name in asked}
    for raised in (kept.get("exception") or {}).get("values", ()):
        raised["value"] = _first_line(raised.get("value"))
    if "logentry" in kept:
        told = {name: kept["logentry"].get(name) for name in ("message", "formatted")}
        kept["logentry"] = {name: _first_line(text) for name, text in told.items()}
    about = {"run_id": log_context.run_id.get(), "request_id": log_context.request_id.get()}
    tags = {**(kept.get("tags") or {}), **{name: told for name, told in about.items() if told}}
    return _without_secrets({**kept, "tags": tags})


def _first_line(text: str | None) -> str:
    """Below it databases and validators quote what they refuse, such as a step's output."""
    return (text or "").partition("\n")[0]


def _without_secrets(value: Any) -> Any:
    match value:
        case str():
            return concealed(value)
        case dict():
            return {name: _without_secrets(each) for name, each in value.items()}
        case list() | tuple():
            return [_without_secrets(each) for each in value]
    return value
