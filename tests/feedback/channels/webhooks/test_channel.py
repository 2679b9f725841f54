"""Each webhook hears of each event once, with what was true then."""

import pytest
from pytest_django.fixtures import Settings

from feedback.channels.webhooks import channel, endpoints, events
from feedback.channels.webhooks.events import WebhookEvent
from feedback.models import WebhookDelivery, WebhookEndpoint
from feedback.requests import answers
from runs import engine
from runs.models import Project, Run
from tests import factories as f
from tests.jobs import later, work_off
from tests.receiver import Receiver

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("webhook")]


def heard(receiver: Receiver) -> list[str]:
    return [call.document["type"] for call in receiver.calls]


def test_a_run_is_told_from_start_to_end(receiver: Receiver) -> None:
    run = f.answered(f.started(f.five_steps()), "approve", "Good.")
    work_off()

    assert heard(receiver) == [
        "run.started",
        "request.opened",
        "request.decided",
        "run.finished",
    ]
    started, opened, decided, finished = (call.document for call in receiver.calls)
    assert {key for call in receiver.calls for key in call.document} == {
        *("type", "timestamp", "data")
    }
    assert started["data"]["run_id"] == finished["data"]["run_id"] == run.run_id
    assert (started["data"]["status"], finished["data"]["status"]) == ("in_progress", "completed")
    assert opened["data"]["request_id"] == decided["data"]["request_id"]
    assert (opened["data"]["status"], opened["data"]["response"]) == ("pending", None)
    assert decided["data"]["response"]["comment"] == "Good."


def test_what_was_true_then_is_sent_whatever_came_after(receiver: Receiver) -> None:
    run = f.started(f.five_steps())
    WebhookDelivery.objects.exclude(event=WebhookEvent.REQUEST_OPENED).delete()
    f.answered(run, "approve")
    work_off()

    assert receiver.calls[0].document["data"]["status"] == "pending"


def test_an_answer_that_can_be_taken_back_is_told_when_it_took_effect(
    receiver: Receiver, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    run = f.started(f.five_steps())
    f.answer(run, "approve")
    answers.retract(run.requests.get().request_id, f.person())
    f.answer(run, "reject")
    work_off()
    assert "request.decided" not in heard(receiver)

    later(60)
    work_off()

    assert heard(receiver)[-2:] == ["run.cancelled", "request.decided"]
    decided = receiver.calls[-1].document["data"]
    assert decided["response"]["response"] == "reject"


def test_a_withdrawn_request_and_a_cancelled_run_are_told(receiver: Receiver) -> None:
    run = f.started(f.five_steps())
    engine.cancel(run.pk, reason="not needed", actor=f.STARTER)
    work_off()

    assert heard(receiver)[-2:] == ["request.withdrawn", "run.cancelled"]
    assert receiver.calls[-1].document["data"]["error"] == "not needed"


def test_each_failure_of_a_run_is_an_event_of_its_own(receiver: Receiver) -> None:
    run = f.start(f.five_steps())
    kept = run.plan
    for _ in range(2):
        Run.objects.update(plan={**kept, "title": "another"})
        engine.claim(run.pk, "worker")
        Run.objects.update(plan=kept)
        engine.resume_stopped(run.pk, f.STARTER)
    work_off()

    assert heard(receiver).count("run.failed") == 2
    assert len(set(receiver.ids)) == len(receiver.ids)


def test_an_event_that_is_announced_twice_is_one_delivery(receiver: Receiver) -> None:
    run = f.started(f.five_steps())
    channel.opened(f.pending(run))
    channel.run_moved(run)
    work_off()

    assert heard(receiver) == ["run.started", "request.opened"]


def test_a_webhook_hears_only_what_it_chose(receiver: Receiver) -> None:
    WebhookEndpoint.objects.update(events=["run.finished"])
    f.answered(f.started(f.five_steps()), "approve")
    work_off()

    assert heard(receiver) == ["run.finished"]


def test_a_webhook_of_a_project_hears_of_no_other(receiver: Receiver) -> None:
    WebhookEndpoint.objects.all().delete()
    other = Project.objects.create(name="Acme/Other")
    endpoints.add(receiver.url, events.read([]), project=other, actor=f.STARTER)
    f.started(f.five_steps())
    work_off()
    assert receiver.calls == []

    WebhookEndpoint.objects.update(project=Project.objects.get(name="Acme/App"))
    f.started(f.five_steps())
    work_off()
    assert heard(receiver) == ["run.started", "request.opened"]


def test_without_webhooks_nothing_is_noted(receiver: Receiver) -> None:
    WebhookEndpoint.objects.all().delete()
    f.started(f.five_steps())

    assert not WebhookDelivery.objects.exists()
