"""Deliveries are signed, retried under the same id, and never keep anybody else waiting."""

import base64
import hashlib
import hmac
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from faber_site.runtime.sweep import sweep
from feedback.channels.callbacks import outbound
from feedback.channels.callbacks.calls import TRIES
from feedback.channels.webhooks import endpoints, sending, slot
from feedback.doctor import diagnosis
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.models import Run
from tests import factories as f
from tests import workers
from tests.commands import faber
from tests.jobs import later, work_off
from tests.receiver import Call, Receiver, hang_up, nonsense

pytestmark = pytest.mark.django_db

A_DAY = 24 * 3600


@pytest.fixture
def webhook(webhook: WebhookEndpoint) -> WebhookEndpoint:
    """Hears of starts alone, so that each run is one event."""
    WebhookEndpoint.objects.update(events=["run.started"])
    return webhook


@pytest.fixture
def run(webhook: WebhookEndpoint) -> Run:
    return f.start(f.five_steps())


def fits(call: Call, secret: str) -> bool:
    """As a receiver verifies, by the specification of Standard Webhooks."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode()
    mine = base64.b64encode(hmac.digest(key, content + call.body, hashlib.sha256)).decode()
    return f"v1,{mine}" in call.headers["webhook-signature"].split(" ")


def wait_for_next_try() -> None:
    """Let every pause pass, however long it is."""
    now = timezone.now()
    WebhookDelivery.objects.filter(is_due=True).update(next_try_at=now)
    WebhookEndpoint.objects.update(retry_at=now)
    later(2 * A_DAY)
    work_off()


@pytest.mark.usefixtures("run")
def test_a_delivery_is_signed_with_the_secret_of_its_webhook(
    receiver: Receiver, webhook: WebhookEndpoint
) -> None:
    work_off()

    (call,) = receiver.calls
    assert fits(call, endpoints.secret_of(webhook))
    assert not fits(call, "whsec_" + base64.b64encode(b"another").decode())
    assert abs(int(call.headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    delivery = WebhookDelivery.objects.get()
    assert call.headers["webhook-id"] == delivery.delivery_id
    assert (delivery.response_code, delivery.is_due, delivery.last_error) == (204, False, "")
    assert delivery.delivered_at is not None
    assert delivery.took_ms is not None


@pytest.mark.usefixtures("run")
def test_for_a_day_after_a_rotation_both_secrets_fit(
    receiver: Receiver, webhook: WebhookEndpoint
) -> None:
    old = endpoints.secret_of(webhook)
    new = endpoints.rotate(webhook, f.STARTER)
    work_off()
    WebhookEndpoint.objects.update(rotated_at=timezone.now() - endpoints.OVERLAP)
    f.start(f.five_steps())
    work_off()

    first, second = receiver.calls
    assert (fits(first, old), fits(first, new)) == (True, True)
    assert (fits(second, old), fits(second, new)) == (False, True)


@pytest.mark.parametrize(
    ("fault", "cause", "code"),
    [
        (500, "it returned 500", 500),
        (404, "it returned 404", 404),
        (301, "it returned 301; redirects are not followed", 301),
        (hang_up, "the connection failed", None),
        (nonsense, "is not valid HTTP", None),
    ],
    ids=["500", "404", "301", "hangs up", "no HTTP"],
)
@pytest.mark.usefixtures("run")
def test_a_delivery_that_failed_is_sent_again_under_the_same_id(
    receiver: Receiver, fault: object, cause: str, code: int | None
) -> None:
    receiver.faults = [fault]  # type: ignore[list-item]
    work_off()

    delivery = WebhookDelivery.objects.get()
    assert cause in delivery.last_error
    assert (delivery.is_due, delivery.response_code) == (True, code)
    assert work_off() == 0, "not at once"
    wait_for_next_try()

    assert len(receiver.calls) == 2
    assert len(set(receiver.ids)) == 1
    assert receiver.calls[0].body == receiver.calls[1].body
    assert WebhookDelivery.objects.get().delivered_at is not None
    assert WebhookEndpoint.objects.get().failures == 0


@pytest.mark.usefixtures("run")
def test_the_pauses_grow_and_end_after_about_a_day(receiver: Receiver) -> None:
    receiver.faults = [503] * 20
    work_off()
    pauses = []
    while (delivery := WebhookDelivery.objects.get()).is_due:
        pauses.append(delivery.next_try_at - timezone.now())
        wait_for_next_try()

    assert len(receiver.calls) == TRIES
    assert pauses == sorted(pauses)
    assert timedelta(hours=17) < sum(pauses, timedelta()) < timedelta(hours=28)
    assert delivery.last_error == "it returned 503"
    sweep()
    assert work_off() == 0


def test_a_receiver_that_is_down_is_left_alone_with_all_that_waits_for_it(
    receiver: Receiver, webhook: WebhookEndpoint
) -> None:
    receiver.faults = [503]
    for _ in range(3):
        f.start(f.five_steps())
    work_off()
    assert len(receiver.calls) == 1, "the others wait until it is asked again"

    wait_for_next_try()
    assert len(receiver.calls) == 4
    assert not WebhookDelivery.objects.filter(is_due=True).exists()


def test_a_delivery_that_is_refused_alone_keeps_no_other_waiting(
    receiver: Receiver, webhook: WebhookEndpoint
) -> None:
    receiver.faults = [422]
    for _ in range(3):
        f.start(f.five_steps())
    work_off()

    assert len(receiver.calls) == 3
    assert WebhookDelivery.objects.filter(is_due=True).count() == 1


def test_what_waited_too_long_for_a_receiver_is_given_up(
    receiver: Receiver, webhook: WebhookEndpoint
) -> None:
    for _ in range(3):
        f.start(f.five_steps())
    WebhookDelivery.objects.update(created_at=timezone.now() - sending.GIVEN_UP_AFTER)
    receiver.faults = [503]
    work_off()

    assert len(receiver.calls) == 1
    assert not WebhookDelivery.objects.filter(is_due=True).exists()


@pytest.mark.usefixtures("run")
def test_gone_switches_a_webhook_off_until_something_is_sent_again(receiver: Receiver) -> None:
    receiver.faults = [410]
    work_off()
    f.start(f.five_steps())
    wait_for_next_try()
    assert len(receiver.calls) == 1
    assert WebhookDelivery.objects.count() == 1, "nothing more is noted for it"
    assert WebhookEndpoint.objects.get().disabled_at is not None

    sending.send_again(WebhookDelivery.objects.all())
    work_off()

    assert len(set(receiver.ids)) == 1
    assert len(receiver.calls) == 2
    assert WebhookEndpoint.objects.get().disabled_at is None


@pytest.mark.usefixtures("run")
def test_a_lost_job_is_found_by_the_sweep(receiver: Receiver) -> None:
    OrmQ.objects.all().delete()
    sweep()
    assert work_off() == 0, "not before its time"

    WebhookDelivery.objects.update(next_try_at=timezone.now() - timedelta(minutes=1))
    WebhookEndpoint.objects.update(retry_at=timezone.now() - timedelta(minutes=1))
    sweep()
    sweep()
    assert OrmQ.objects.count() == 1
    work_off()

    assert len(receiver.calls) == 1


@pytest.mark.usefixtures("run")
def test_while_somebody_waits_for_receivers_others_do_not(receiver: Receiver) -> None:
    with slot.taken() as is_ours:
        assert is_ours
        sending.send_due()
        assert receiver.calls == []

    sending.send_due()
    assert len(receiver.calls) == 1


@pytest.mark.usefixtures("run")
def test_what_came_while_the_slot_was_held_is_not_forgotten(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = outbound.post

    def post_while_another_comes(url: str, headers: dict[str, str], body: bytes) -> int:
        monkeypatch.setattr(outbound, "post", post)
        monkeypatch.setattr(sending, "_STINT", 0.0)
        f.start(f.five_steps())
        OrmQ.objects.all().delete()  # its job came, found the slot taken and left
        return post(url, headers, body)

    monkeypatch.setattr(outbound, "post", post_while_another_comes)
    work_off()

    assert len(receiver.calls) == 2


@pytest.mark.usefixtures("run")
def test_a_receiver_that_hangs_is_cut_off(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "READ_SECONDS", 0.2)
    released = threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        released.wait(30)
        handler.close_connection = True

    receiver.faults = [hang]
    work_off()
    released.set()

    assert WebhookDelivery.objects.get().last_error == "it timed out"


def test_a_removed_webhook_is_not_called(receiver: Receiver, webhook: WebhookEndpoint) -> None:
    f.start(f.five_steps())
    endpoints.remove(webhook, f.STARTER)
    work_off()

    assert receiver.calls == []
    assert not WebhookDelivery.objects.exists()


def test_a_name_that_means_a_private_address_later_is_not_called(
    receiver: Receiver, webhook: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    WebhookEndpoint.objects.update(url=f"https://rebind.example:{receiver.port}/")
    monkeypatch.setattr(outbound, "resolve", lambda _host, _port: ["10.0.0.1"])
    f.start(f.five_steps())
    work_off()

    assert receiver.calls == []
    assert "private or special" in WebhookDelivery.objects.get().last_error


@pytest.mark.usefixtures("run")
def test_the_doctor_names_a_receiver_once_and_redelivers(receiver: Receiver) -> None:
    workers.report()
    f.start(f.five_steps())
    work_off()
    assert diagnosis.findings() == []
    f.start(f.five_steps())
    f.start(f.five_steps())
    receiver.faults = [422, 404]
    work_off()

    (finding,) = diagnosis.findings()
    endpoint = WebhookEndpoint.objects.get()
    assert finding.what == f"Webhook {endpoint} to 127.0.0.1:{receiver.port} missed 2 events"
    assert finding.cause == "it returned 404"
    assert finding.repair == "Redeliver now; FABER also retries by itself."
    assert "/answered" not in finding.what, "the path may hold a secret"

    assert faber("doctor", "--fix").code == 0
    assert diagnosis.findings() == []
    assert len(set(receiver.ids)) == 4


@pytest.mark.usefixtures("run")
def test_the_doctor_tells_what_was_given_up(receiver: Receiver) -> None:
    workers.report()
    receiver.faults = [503]
    work_off()
    WebhookDelivery.objects.update(is_due=False)

    (finding,) = diagnosis.findings()
    assert finding.repair == "FABER stopped retrying. Redeliver, or remove the webhook."
