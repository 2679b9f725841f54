"""Nobody waits for a receiver: no run, no answer, no other notice."""

import socket
import threading
from http.server import BaseHTTPRequestHandler

import pytest
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from feedback.channels.notices import sending
from feedback.doctor import diagnosis
from feedback.models import Announcement, Notice
from tests import factories as f
from tests import receiver, workers
from tests.jobs import work_off
from tests.receiver import Receiver


@pytest.mark.django_db(transaction=True)
@pytest.mark.database
def test_a_worker_goes_on_while_a_receiver_hangs(
    webhook: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FABER_NOTICE_THREADS = 1
    monkeypatch.setattr(sending, "_slots", threading.BoundedSemaphore(1))
    hangs, go_on = threading.Event(), threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        hangs.set()
        go_on.wait(60)
        handler.send_response(204)
        handler.end_headers()

    webhook.faults = [hang]
    runs = [f.started(f.five_steps()) for _ in range(2)]
    work_off()
    assert hangs.wait(60)

    # One hangs; the job of the other came back later, in place of waiting for it.
    assert Notice.objects.filter(sent_at=None).count() == 2
    assert OrmQ.objects.count() == 1
    assert f.answered(runs[0], "approve").status == "completed"

    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "notice":
            thread.join()
    assert len(webhook.calls) == 1


@pytest.mark.django_db
def test_nothing_is_said_to_the_network_before_a_job_does(
    webhook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)

    run = f.started(f.five_steps())
    f.answered(run, "approve")

    assert {each.kind for each in Announcement.objects.all()} == {
        *("opened", "decided", "run_finished")
    }


@pytest.mark.django_db
def test_a_receiver_that_is_down_is_asked_once_for_all_that_waits_for_it(
    webhook: Receiver,
) -> None:
    webhook.faults = [500] * 9
    for _ in range(3):
        f.started(f.five_steps())
    work_off()

    assert len(webhook.calls) == 1
    assert Notice.objects.filter(is_due=True).count() == 3


@pytest.mark.django_db
def test_the_doctor_names_a_receiver_that_fails_and_sends_again(webhook: Receiver) -> None:
    workers.report()
    webhook.faults = [500]
    f.started(f.five_steps())
    f.started(f.five_steps())
    work_off()

    (found,) = [each for each in diagnosis.findings() if "notice" in each.what]
    assert found.what == "1 notice to Site (webhook) not sent"
    assert "error=500" in found.cause
    assert found.since is not None
    assert "s3cr3t" not in repr(found)

    diagnosis.repair([found])

    assert [each for each in diagnosis.findings() if "notice" in each.what] == []
    assert Notice.objects.exclude(sent_at=None).count() == 1


@pytest.mark.django_db
def test_mail_servers_that_refuse_are_told_by_their_answer(
    settings: Settings, rita: object
) -> None:
    with receiver.running() as closed:
        port = closed.port
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.FABER_EMAIL_URL = f"smtp://127.0.0.1:{port}"
    f.started(f.five_steps())
    work_off()

    assert Notice.objects.get().last_error == "the mail server was not reached: Connection refused"
