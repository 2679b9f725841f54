"""A program that asked is told what became of its question."""

import base64
import hashlib
import hmac
import json
import runpy
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from faber_site import settings as site_settings
from faber_site.runtime.sweep import sweep
from feedback.channels.callbacks import calls, channel, outbound
from feedback.channels.callbacks.addresses import read_allowed
from feedback.doctor import diagnosis
from feedback.doctor.finding import REMEMBERED
from feedback.models import Callback, FeedbackRequest
from feedback.requests import answers
from runs import engine
from runs.accounts import tokens
from runs.domain.values.actors import Role, Scope
from runs.models import AccessToken, Run
from tests import factories as f
from tests import workers
from tests.api_client import Program, account, body_of, error_of, program
from tests.commands import faber
from tests.jobs import later, work_off
from tests.receiver import Receiver, hang_up, nonsense, redirect_to, running

pytestmark = pytest.mark.django_db

A_MOMENT, A_DAY = 60, 24 * 3600


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    with running() as receiver:
        yield receiver


@pytest.fixture
def secret() -> str:
    return tokens.create("bot", scope=Scope.AGENT)[1]


@pytest.fixture
def agent(secret: str) -> Program:
    return Program(secret)


def ask(agent: Program, url: str, **more: object) -> Run:
    body = {"type": "confirmation", "prompt": "Drop it?", "callback_url": url, **more}
    asked = body_of(agent.post("/requests", body))
    assert asked.pop("callback_secret").startswith("whsec_")
    assert "callback" not in json.dumps(asked)
    return Run.objects.get(run_id=asked["run_id"])


def wait_for_next_try() -> None:
    """Let the pause after a failure pass, however long it is."""
    Callback.objects.filter(is_due=True).update(next_try_at=timezone.now())
    later(2 * A_DAY)
    work_off()


def test_the_answer_is_posted_with_the_request(agent: Program, receiver: Receiver) -> None:
    run = ask(agent, receiver.url)
    request = f.pending(run)
    work_off()
    assert receiver.calls == []

    f.answer(run, "confirm", "Go on.")
    work_off()

    (call,) = receiver.calls
    assert call.path == "/answered?from=faber"
    assert call.headers["content-type"] == "application/json"
    assert call.document == body_of(agent.get(f"/requests/{request.request_id}"))
    assert call.document["status"] == "answered"
    assert call.document["response"]["comment"] == "Go on."
    callback = Callback.objects.get()
    assert (callback.is_due, callback.last_error) == (False, "")
    assert callback.delivered_at is not None


def test_a_call_is_signed_with_the_secret_that_came_with_the_request(
    agent: Program, receiver: Receiver
) -> None:
    body = {"type": "confirmation", "prompt": "Drop it?", "callback_url": receiver.url}
    asked = body_of(agent.post("/requests", body))
    f.answer(Run.objects.get(), "confirm")
    work_off()

    (call,) = receiver.calls
    name, at = call.headers["webhook-id"], call.headers["webhook-timestamp"]
    key = base64.b64decode(asked["callback_secret"].removeprefix("whsec_"))
    content = f"{name}.{at}.".encode() + call.body
    mine = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    assert call.headers["webhook-signature"] == f"v1,{mine}"
    assert name == call.document["request_id"]
    assert abs(int(at) - timezone.now().timestamp()) < 60
    assert "callback_secret" not in call.document


def test_who_reads_the_database_can_sign_nothing(agent: Program, receiver: Receiver) -> None:
    body = {"type": "confirmation", "prompt": "Drop it?", "callback_url": receiver.url}
    first = body_of(agent.post("/requests", body, {"Idempotency-Key": "one"}))
    again = body_of(agent.post("/requests", body, {"Idempotency-Key": "one"}))
    f.answer(Run.objects.get(), "confirm")
    work_off()

    (call,) = receiver.calls
    content = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode()
    digest = bytes.fromhex(AccessToken.objects.get().digest)
    forged = base64.b64encode(hmac.digest(digest, content + call.body, "sha256")).decode()
    assert call.headers["webhook-signature"] != f"v1,{forged}"
    assert again == first
    stored = "".join(
        str(row) for model in apps.get_models() for row in model._default_manager.values()
    )
    assert first["callback_secret"].removeprefix("whsec_") not in stored


def test_each_request_has_a_secret_of_its_own(agent: Program, receiver: Receiver) -> None:
    body = {"type": "confirmation", "prompt": "Drop it?", "callback_url": receiver.url}
    run = f.start(f.workflow({"build": [{"id": "away", "remote": True}]}))

    alone = body_of(agent.post("/requests", body))["callback_secret"]
    inside = body_of(agent.post(f"/runs/{run.run_id}/requests", body))["callback_secret"]

    assert alone != inside
    del body["callback_url"]
    assert "callback_secret" not in body_of(agent.post("/requests", body))


def test_a_run_that_asks_is_called_back_too(agent: Program, receiver: Receiver) -> None:
    run = f.start(f.workflow({"build": [{"id": "away", "remote": True}]}))
    body = {"type": "clarification", "prompt": "Which?", "callback_url": receiver.url}
    agent.post(f"/runs/{run.run_id}/requests", body)

    f.answer(run, "the red one")
    work_off()

    assert receiver.calls[0].document["response"]["response"] == "the red one"
    assert receiver.calls[0].document["run_id"] == run.run_id


def test_a_withdrawn_request_is_told(agent: Program, receiver: Receiver) -> None:
    run = ask(agent, receiver.url)

    engine.cancel(run.pk, reason="not needed", actor=f.STARTER)
    work_off()

    assert [call.document["status"] for call in receiver.calls] == ["cancelled"]
    assert receiver.calls[0].document["response"] is None


def test_an_answer_that_can_be_taken_back_is_told_when_it_took_effect(
    agent: Program, receiver: Receiver, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    run = ask(agent, receiver.url)
    f.answer(run, "confirm")
    answers.retract(run.requests.get().request_id, f.person())
    f.answer(run, "cancel")
    work_off()
    assert receiver.calls == []

    later(A_MOMENT)
    work_off()

    assert [call.document["response"]["response"] for call in receiver.calls] == ["cancel"]


def test_a_request_short_of_its_quorum_is_not_told(agent: Program, receiver: Receiver) -> None:
    run = ask(agent, receiver.url)
    FeedbackRequest.objects.update(quorum=2)

    f.answer(run, "confirm")
    work_off()
    assert receiver.calls == []

    f.answer(run, "confirm", actor=f.person("Paul"))
    work_off()
    assert len(receiver.calls) == 1


def test_nobody_is_called_who_did_not_ask_for_it(agent: Program, receiver: Receiver) -> None:
    body = {"type": "confirmation", "prompt": "Drop it?"}
    run = Run.objects.get(run_id=body_of(agent.post("/requests", body))["run_id"])

    f.answer(run, "confirm")
    work_off()

    assert receiver.calls == []
    assert not Callback.objects.exists()


def test_the_same_question_with_the_same_key_is_called_back_once(
    agent: Program, receiver: Receiver
) -> None:
    body = {"type": "confirmation", "prompt": "Drop it?", "callback_url": receiver.url}
    key = {"Idempotency-Key": "one"}
    first, again = (body_of(agent.post("/requests", body, key)) for _ in range(2))
    assert first == again

    f.answer(Run.objects.get(run_id=first["run_id"]), "confirm")
    work_off()

    assert len(receiver.calls) == 1


# What goes wrong


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (500, "it returned 500"),
        (404, "it returned 404"),
        (301, "it returned 301; redirects are not followed"),
        (hang_up, "the connection failed"),
        (nonsense, "is not valid HTTP"),
    ],
    ids=["500", "404", "301", "hangs up", "no HTTP"],
)
def test_a_call_that_failed_is_made_again_with_the_same_id(
    agent: Program, receiver: Receiver, fault: object, cause: str
) -> None:
    receiver.faults = [fault]  # type: ignore[list-item]
    f.answer(ask(agent, receiver.url), "confirm")
    work_off()

    callback = Callback.objects.get()
    assert cause in callback.last_error
    assert callback.is_due
    assert work_off() == 0, "not at once"
    wait_for_next_try()

    assert len(receiver.calls) == 2
    assert len(set(receiver.ids)) == 1
    assert Callback.objects.get().delivered_at is not None


def test_nothing_listening_is_a_failure_like_others(agent: Program, receiver: Receiver) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    f.answer(ask(agent, f"http://127.0.0.1:{port}/"), "confirm")
    work_off()

    assert "Connection refused" in Callback.objects.get().last_error


def test_the_pauses_grow_and_end_after_about_a_day(agent: Program, receiver: Receiver) -> None:
    receiver.faults = [503] * 20
    f.answer(ask(agent, receiver.url), "confirm")
    work_off()
    pauses = []
    while (callback := Callback.objects.get()).is_due:
        pauses.append(callback.next_try_at - timezone.now())
        assert OrmQ.objects.filter(lock__gt=timezone.now()).count() == 1
        wait_for_next_try()

    assert len(receiver.calls) == calls.TRIES == 10
    assert pauses == sorted(pauses)
    assert timedelta(hours=17) < sum(pauses, timedelta()) < timedelta(hours=28)
    hours = zip(pauses[5:], calls.PAUSES[5:], strict=True)
    assert any(abs(pause - plain) > plain / 100 for pause, plain in hours), "never to the minute"
    assert (callback.delivered_at, callback.last_error) == (None, "it returned 503")
    sweep()
    assert work_off() == 0


def test_calls_that_failed_together_do_not_come_back_together() -> None:
    pauses = {calls.spread(timedelta(minutes=10)) for _ in range(50)}

    assert len(pauses) > 10
    assert timedelta(minutes=8) <= min(pauses) < max(pauses) <= timedelta(minutes=12)


def test_gone_is_the_end(agent: Program, receiver: Receiver) -> None:
    receiver.faults = [410]
    f.answer(ask(agent, receiver.url), "confirm")
    work_off()
    wait_for_next_try()
    sweep()
    work_off()

    assert len(receiver.calls) == 1
    assert not Callback.objects.get().is_due


def test_a_revoked_token_is_not_told_any_more(agent: Program, receiver: Receiver) -> None:
    run = ask(agent, receiver.url)
    tokens.revoke("bot")

    f.answer(run, "confirm")
    work_off()

    assert receiver.calls == []
    assert Callback.objects.get().last_error == "the token that asked was revoked"


def test_a_token_that_is_gone_is_not_told_either(agent: Program, receiver: Receiver) -> None:
    run = ask(agent, receiver.url)
    AccessToken.objects.all().delete()

    f.answer(run, "confirm")
    work_off()

    assert receiver.calls == []


def test_a_lost_job_is_found_by_the_sweep(agent: Program, receiver: Receiver) -> None:
    f.answer(ask(agent, receiver.url), "confirm")
    OrmQ.objects.all().delete()
    sweep()
    assert work_off() == 0, "not before its time"

    Callback.objects.update(next_try_at=timezone.now() - timedelta(minutes=1))
    sweep()
    sweep()
    assert OrmQ.objects.count() == 1
    work_off()

    assert len(receiver.calls) == 1


def test_two_jobs_make_one_call(agent: Program, receiver: Receiver) -> None:
    f.answer(ask(agent, receiver.url), "confirm")
    pk = Callback.objects.get().pk

    calls.call(pk)
    calls.call(pk)
    work_off()

    assert len(receiver.calls) == 1


def test_while_a_call_lasts_nobody_else_makes_it(
    agent: Program, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    f.answer(ask(agent, receiver.url), "confirm")
    pk, post = Callback.objects.get().pk, outbound.post

    def post_after_the_rival(url: str, headers: dict[str, str], body: bytes) -> int:
        monkeypatch.setattr(outbound, "post", post)
        calls.call(pk)
        return post(url, headers, body)

    monkeypatch.setattr(outbound, "post", post_after_the_rival)
    work_off()

    assert len(receiver.calls) == 1


def test_a_promise_is_kept_once_whatever_comes_after(agent: Program, receiver: Receiver) -> None:
    run = ask(agent, receiver.url)
    f.answer(run, "confirm")
    request, queued = run.requests.get(), OrmQ.objects.count()

    channel.changed(request)
    assert OrmQ.objects.count() == queued, "it is due already"
    work_off()
    channel.changed(request)
    assert work_off() == 0, "it was called"
    Callback.objects.update(delivered_at=None, attempts=calls.TRIES)
    channel.changed(request)
    assert work_off() == 0, "it was given up"


# Addresses nobody may name


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/", "is not a URL"),
        ("http://127.0.0.1:8000/", "private or special"),
        ("https://localhost./", "private or special"),
        ("https://[::1]/", "private or special"),
        ("https://[::ffff:169.254.169.254]/latest/meta-data", "private or special"),
        ("https://2130706433/", "four decimal numbers"),
        ("https://0x7f.1/", "four decimal numbers"),
        ("https://me:secret@example.org/", "must not contain a user name or password"),
        ("http://9.9.9.9/", "must start with https://"),
        ("https://no.such.host.invalid/", "was not found"),
    ],
)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a run"])
def test_an_address_that_will_not_be_called_is_refused_at_once(
    agent: Program, url: str, message: str, inside: bool
) -> None:
    run = f.start(f.workflow({"build": [{"id": "away", "remote": True}]}))
    path = f"/runs/{run.run_id}/requests" if inside else "/requests"

    response = agent.post(path, {"type": "confirmation", "prompt": "?", "callback_url": url})

    assert response.status_code == 422
    (problem,) = error_of(response)["details"]["problems"]
    assert problem["place"] == "callback_url"
    assert message in problem["message"]
    assert "secret" not in problem["message"]
    assert not FeedbackRequest.objects.exists()
    assert Run.objects.count() == 1


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Every host has the first of these addresses at first, then the next; who was asked for."""
    asked: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return answers[min(len(asked), len(answers)) - 1]

    monkeypatch.setattr(outbound, "resolve", resolve)
    return asked


@pytest.mark.parametrize("addresses", [["10.0.0.5"], ["9.9.9.9", "fd00::1"], ["::ffff:127.0.0.1"]])
def test_a_name_that_means_a_private_address_is_refused(
    agent: Program, monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    resolving(monkeypatch, addresses)
    body = {"type": "confirmation", "prompt": "?", "callback_url": "https://rebind.example/"}

    response = agent.post("/requests", body)

    assert response.status_code == 422
    assert all(address not in response.content.decode() for address in addresses)


def test_a_name_that_means_a_private_address_later_is_not_called(
    agent: Program, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("")
    resolving(monkeypatch, ["9.9.9.9"], ["127.0.0.1"])
    f.answer(ask(agent, f"https://rebind.example:{receiver.port}/"), "confirm")
    work_off()

    assert receiver.calls == []
    assert "private or special" in Callback.objects.get().last_error


def test_a_name_is_looked_up_once_for_a_call(
    agent: Program, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, ["127.0.0.1"])  # as some machines know it by ::1 too
    run = ask(agent, receiver.url.replace("127.0.0.1", "localhost"))
    f.answer(run, "confirm")
    asked = resolving(monkeypatch, ["127.0.0.1"], ["9.9.9.9"])
    real = socket.getaddrinfo

    def only_numbers(host: str, *args: object, **more: object) -> object:
        assert host == "127.0.0.1", "the connection goes to the address that was checked"
        return real(host, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", only_numbers)
    work_off()

    assert asked == ["localhost"]
    assert receiver.calls[0].headers["host"] == f"localhost:{receiver.port}"


def test_a_redirect_to_a_private_address_leads_nowhere(
    agent: Program, receiver: Receiver, settings: Settings
) -> None:
    with running() as inside:
        receiver.faults = [redirect_to(inside.url)]
        f.answer(ask(agent, receiver.url), "confirm")
        work_off()

        assert len(receiver.calls) == 1
        assert inside.calls == []
    assert "it returned 307; redirects are not followed" in Callback.objects.get().last_error


def test_the_proxies_of_the_environment_are_not_asked(
    agent: Program, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    f.answer(ask(agent, receiver.url), "confirm")
    work_off()

    assert len(receiver.calls) == 1


def test_a_viewers_token_has_nothing_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolving(monkeypatch, ["9.9.9.9"])
    viewer = program(Scope.AGENT, account("vera", Role.VIEWER))
    body = {"type": "confirmation", "prompt": "?", "callback_url": "https://example.org/"}

    assert viewer.post("/requests", body).status_code == 403
    assert asked == []


@pytest.mark.parametrize("value", ["https://ci.internal", "10.0.0.1/8", "a b"])
def test_a_wrong_allowance_stops_the_start_with_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    monkeypatch.setenv("FABER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("FABER_CALLBACK_ALLOW", value)

    with pytest.raises(ImproperlyConfigured) as caught:
        runpy.run_path(site_settings.__file__)

    assert str(caught.value) == (
        f"FABER_CALLBACK_ALLOW={value!r} is not accepted; "
        "use hosts, addresses or networks such as ci.internal,10.1.0.0/16."
    )


# The doctor


@pytest.fixture
def worker() -> None:
    workers.report()


@pytest.mark.usefixtures("worker")
def test_the_doctor_tells_why_a_program_was_not_called_and_calls_it(
    agent: Program, receiver: Receiver
) -> None:
    receiver.faults = [503]
    run = ask(agent, receiver.url)
    request_id = f.pending(run).request_id
    assert diagnosis.findings() == []
    f.answer(run, "confirm")
    work_off()

    (finding,) = diagnosis.findings()
    assert finding.what == f"The program that asked {request_id} was not called back"
    assert finding.cause == "it returned 503"
    assert finding.since is not None

    assert faber("doctor", "--fix").code == 0
    assert len(receiver.calls) == 2
    assert Callback.objects.get().delivered_at is not None


@pytest.mark.usefixtures("worker")
def test_the_doctor_calls_what_was_given_up(agent: Program, receiver: Receiver) -> None:
    f.answer(ask(agent, receiver.url), "confirm")
    OrmQ.objects.all().delete()
    Callback.objects.update(is_due=False, attempts=calls.TRIES, last_error="it returned 500")
    (finding,) = diagnosis.findings()
    assert "FABER gave up after 10 calls" in finding.repair
    receiver.faults = [500]

    diagnosis.repair([finding])
    assert len(diagnosis.findings()) == 1, "one more call, and given up again"
    diagnosis.repair(diagnosis.findings())

    assert len(receiver.calls) == 2
    assert diagnosis.findings() == []


@pytest.mark.usefixtures("worker")
def test_what_nobody_wants_or_what_is_long_ago_is_no_finding(
    agent: Program, receiver: Receiver
) -> None:
    receiver.faults = [410]
    f.answer(ask(agent, receiver.url), "confirm")
    work_off()
    assert diagnosis.findings() == []

    Callback.objects.update(attempts=calls.TRIES, next_try_at=timezone.now() - REMEMBERED)
    assert diagnosis.findings() == []
