"""Notices through Apprise: one library for chat services, phones and webhooks."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from feedback.channels.notices import connections
from feedback.channels.notices.failures import SendingFailed
from feedback.channels.notices.receivers import Receiver
from feedback.channels.notices.text import Message

_SECONDS = 10.0  # for a connection, and again for an answer
# Services should tell by returning; each is somebody else's code.
_FAULTS = (AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def load() -> None:
    """Load every service, before workers are forked: each would need more than a second for it."""
    import apprise  # noqa: PLC0415

    apprise.Apprise.instantiate("json://localhost")


def send(receiver: Receiver, message: Message) -> None:
    """Send one message; Apprise tells a failure in its log, and by nothing else.

    The service itself is called: Apprise would call it from a thread of its own, where nothing
    holds its connections, and as often as the address says.
    """
    import apprise  # noqa: PLC0415  loads a hundred services: for workers that send
    from apprise.conversion import convert_between  # noqa: PLC0415

    service = apprise.Apprise.instantiate(receiver.url)
    if service is None:
        raise SendingFailed("Apprise does not understand the address")
    service.socket_connect_timeout = min(service.socket_connect_timeout, _SECONDS)
    service.socket_read_timeout = min(service.socket_read_timeout, _SECONDS)
    written = apprise.NotifyFormat.MARKDOWN
    wanted = service.resolve_format(written)
    body: str = convert_between(written, wanted, content=message.markdown)  # type: ignore[no-untyped-call]
    with (
        connections.limited(receiver.url, only_public=not receiver.is_trusted) as watch,
        _listening() as said,
    ):
        try:
            is_sent = service.notify(body=body, title=message.subject, body_format=wanted)
        except _FAULTS as error:
            raise SendingFailed(f"Apprise failed with {type(error).__name__}") from error
    if not is_sent:
        raise SendingFailed(_cause(watch.refusal, watch.is_over, said.lines, receiver.url))


class _Said(logging.Handler):
    """What Apprise says while a message is sent."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:  # others send at the same time
            self.lines.append(record.getMessage())


@contextmanager
def _listening() -> Iterator[_Said]:
    said, logger = _Said(), logging.getLogger("apprise")
    logger.addHandler(said)
    try:
        yield said
    finally:
        logger.removeHandler(said)


def _cause(refusal: str, is_over: bool, lines: list[str], url: str) -> str:
    if refusal:
        return refusal
    if is_over:
        return "it did not answer in time"
    return without_address(lines[0], url)[:300] if lines else "the service did not take it"


def without_address(text: str, url: str) -> str:
    """The text without any part of an address that could be a secret."""
    parts = {part for part in re.split(r"[:/@?&=#,]+", url.partition("://")[2]) if len(part) > 3}
    for part in sorted({*parts, *map(unquote, parts)}, key=len, reverse=True):
        text = text.replace(part, "…")
    return " ".join(text.split()).rstrip(".")
