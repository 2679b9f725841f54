"""A person's own address leads outside; and no receiver keeps a worker for long."""

import socket
import time
from http.server import BaseHTTPRequestHandler

import pytest
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.notices import chat, connections
from feedback.channels.notices.failures import SendingFailed
from feedback.channels.notices.receivers import Receiver
from feedback.channels.notices.text import Message
from feedback.models import Notice
from tests import receiver as receivers

MESSAGE = Message(subject="Hello", heading="Test", title="A test", where="", url="http://x/")


def to(url: str, origin: Notice.Origin = Notice.Origin.PERSON) -> Receiver:
    return Receiver(key="k", service="webhook", origin=origin, url=url)


@pytest.mark.parametrize(
    "url", ["json://127.0.0.1:{}/", "json://localhost:{}/", "ntfy://127.0.0.1:{}/topic"]
)
def test_a_persons_own_address_may_not_lead_inside(url: str) -> None:
    with receivers.running() as hook:
        with pytest.raises(SendingFailed, match="private or special network"):
            chat.send(to(url.format(hook.port)), MESSAGE)

        assert hook.calls == []


@pytest.mark.parametrize(("host", "allowed"), [("127.0.0.1", "127.0.0.0/8"), ("localhost",) * 2])
def test_the_site_may_allow_it(host: str, allowed: str, settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed(allowed)
    with receivers.running() as hook:
        chat.send(to(f"json://{host}:{hook.port}/"), MESSAGE)

        assert len(hook.calls) == 1


def test_a_redirect_does_not_lead_inside_either(settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    with receivers.running() as outside, receivers.running() as inside:
        outside.faults = [receivers.redirect_to(f"http://127.0.0.2:{inside.port}/")]
        with pytest.raises(SendingFailed, match="private or special network"):
            chat.send(to(f"json://127.0.0.1:{outside.port}/"), MESSAGE)

        assert inside.calls == []


def test_what_the_site_names_may_lead_anywhere() -> None:
    with receivers.running() as hook:
        chat.send(to(f"json://127.0.0.1:{hook.port}/", Notice.Origin.SITE), MESSAGE)

        assert len(hook.calls) == 1


def test_a_persons_address_starts_no_program() -> None:
    import subprocess

    with connections.limited(only_public=True), pytest.raises(connections.Forbidden):
        subprocess.run(["true"], check=False)


def test_other_threads_and_later_connections_are_left_alone() -> None:
    with receivers.running() as hook:
        with connections.limited(only_public=True):
            pass
        socket.create_connection(("127.0.0.1", hook.port)).close()


def test_a_receiver_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WHOLE_SECONDS", 0.3)
    with receivers.running() as hook:

        def drip(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
            while not hook.stopping.wait(0.05):
                handler.wfile.write(b"x")

        hook.faults = [drip]
        begun = time.monotonic()
        with pytest.raises(SendingFailed, match="did not answer in time"):
            chat.send(to(f"json://127.0.0.1:{hook.port}/", Notice.Origin.SITE), MESSAGE)

        assert time.monotonic() - begun < 60  # and not the hour and more that it would drip


def test_an_address_asks_in_vain_for_repetitions_and_long_waits() -> None:
    with receivers.running() as hook:
        hook.faults = [500, 500, 500]
        with pytest.raises(SendingFailed):
            chat.send(
                to(f"json://127.0.0.1:{hook.port}/?retry=2&wait=0.1", Notice.Origin.SITE), MESSAGE
            )

        assert len(hook.calls) == 1


def test_the_cause_of_a_failure_tells_nothing_of_the_address() -> None:
    said = "Failed at hooks.example.org with T0KEN99 and pass%20word (pass word)"

    assert (
        chat.without_address(said, "slack://hooks.example.org/T0KEN99/?x=pass%20word")
        == "Failed at … with … and … (…)"
    )
