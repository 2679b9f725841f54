"""People are told of requests: once each, whatever fails meanwhile."""

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from faber_site.runtime.sweep import sweep
from feedback.channels.notices import receivers, sending
from feedback.models import Announcement, Notice, NoticeSettings
from feedback.requests import announce, answers
from feedback.requests.handover import delegation
from feedback.requests.handover.delegation import delegate
from runs import engine
from runs.accounts import notify_urls, users
from runs.domain.values.actors import Role
from runs.models import Project, Run
from tests import factories as f
from tests.jobs import later, work_off
from tests.mail_sink import MailSink
from tests.receiver import Receiver

pytestmark = pytest.mark.django_db


def asking() -> Run:
    run = f.started(f.five_steps(), work_id="7")
    work_off()
    return run


def try_again() -> None:
    """Let the pause after a failure pass, however long it is."""
    Notice.objects.filter(is_due=True).update(next_try_at=timezone.now())
    later(2 * 24 * 3600)
    work_off()


def subjects(post: MailSink) -> list[str]:
    return [str(mail["Subject"]) for mail in post.mails]


def test_a_request_is_told_with_its_question_and_what_each_option_causes(
    webhook: Receiver,
) -> None:
    run = asking()

    (call,) = webhook.calls
    request = f.pending(run)
    address = f"/requests/{request.request_id}/"
    text = call.document["message"]
    assert call.path == "/told/s3cr3t-path"
    assert call.document["title"].startswith("[Acme/App] ")
    assert "Waiting for a decision" in text
    assert f"{address}?choose=approve)" in text
    assert "Runs 3 steps, then completes the run" in text
    assert "Reruns with your comments, then returns to you" in text
    assert "Ends the run; 3 steps not executed" in text


def test_who_may_answer_is_sent_a_mail_as_text_and_html(post: MailSink, rita: User) -> None:
    run = asking()

    (mail,) = post.mails
    request = f.pending(run)
    address = f"/requests/{request.request_id}/?choose=approve"
    assert mail["To"] == "rita@example.org"
    assert address in post.text_of()
    assert address in post.html_of()
    assert request.request_id in mail["Message-ID"]


def test_who_may_not_answer_is_sent_nothing(post: MailSink, rita: User) -> None:
    review = f.step("two", requires_approval=True, reviewers=["otto"])
    users.create("otto", role=Role.REVIEWER)
    f.started(f.workflow({"build": [review]}))
    work_off()

    assert post.mails == []


def test_the_decision_comes_in_the_thread_of_the_request(post: MailSink, rita: User) -> None:
    run = asking()
    f.answer(run, "approve", "Fine.")
    work_off()

    opened, decided = post.mails
    assert decided["In-Reply-To"] == decided["References"] == opened["Message-ID"]
    assert decided["Subject"] == f"Re: {opened['Subject']}"
    assert decided["Message-ID"] != opened["Message-ID"]
    assert "Rita answered approve. Fine." in post.text_of()
    assert "choose=" not in post.text_of()


def test_who_decides_is_not_told_of_it(post: MailSink, rita: User) -> None:
    run = asking()
    f.answer(run, "approve", actor=users.actor_of(rita))
    work_off()

    assert len(post.mails) == 1


def test_a_decision_is_told_when_it_takes_effect(webhook: Receiver, settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 60
    run = asking()
    held = f.answer(run, "approve")
    work_off()
    assert len(webhook.calls) == 1

    answers.take_effect(held.pk)
    work_off()

    assert "Rita answered approve" in webhook.calls[1].document["message"]


def test_a_withdrawn_request_is_followed_up(webhook: Receiver) -> None:
    run = asking()
    engine.cancel(run.pk, reason="Enough.", actor=f.STARTER)
    work_off()

    assert "No longer needed" in webhook.calls[1].document["message"]


def test_what_was_decided_before_anybody_was_told_is_not_told(
    webhook: Receiver, post: MailSink, rita: User
) -> None:
    webhook.faults = [503]
    post.refusals = ["450 later"]
    run = asking()
    f.answer(run, "approve")
    work_off()
    try_again()

    assert [call.document["title"].partition(" ")[2] for call in webhook.calls] == [
        f.fresh(run).title,
        f"Run completed: {f.fresh(run).title}",
    ]
    assert post.mails == []
    assert not Notice.objects.filter(is_due=True).exists()


def test_what_fails_is_tried_again_with_growing_waits(webhook: Receiver) -> None:
    webhook.faults = [500, 500]
    asking()
    waits = []
    for _ in range(2):
        notice = Notice.objects.get()
        assert "500" in notice.last_error
        assert notice.is_due
        waits.append(notice.next_try_at - timezone.now())
        try_again()

    notice.refresh_from_db()
    assert waits[0] < waits[1]
    assert (notice.is_due, notice.last_error) == (False, "")
    assert notice.sent_at is not None
    assert len(webhook.calls) == 3


def test_after_the_last_try_nobody_tries_any_more(webhook: Receiver) -> None:
    webhook.faults = [500] * sending.TRIES
    asking()
    for _ in range(sending.TRIES):
        try_again()

    notice = Notice.objects.get()
    assert (notice.is_due, notice.attempts) == (False, sending.TRIES)
    assert len(webhook.calls) == sending.TRIES

    sending.send_now(notice.pk)

    notice.refresh_from_db()
    assert notice.sent_at is not None


def test_the_address_is_in_no_row_and_no_log(
    webhook: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    webhook.faults = [500]
    with caplog.at_level(logging.DEBUG):
        asking()

    notice = Notice.objects.get()
    kept = repr([*Notice.objects.values(), *Announcement.objects.values()])
    assert "s3cr3t" not in kept + notice.last_error + repr(receivers.find(notice))
    assert "s3cr3t" not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("feedback")
    )


def test_an_address_that_was_removed_is_not_used_any_more(
    webhook: Receiver, settings: Settings
) -> None:
    webhook.faults = [500]
    asking()
    settings.FABER_NOTIFY_URLS = ()
    try_again()

    assert len(webhook.calls) == 1
    assert not Notice.objects.get().is_due


def test_the_same_address_of_site_and_project_is_told_once(
    webhook: Receiver, settings: Settings
) -> None:
    sealed = [notify_urls.seal(url) for url in settings.FABER_NOTIFY_URLS]
    Project.objects.create(name="Acme/App", notify=sealed)
    asking()

    assert len(webhook.calls) == 1


def test_the_project_is_told_besides_the_site(webhook: Receiver) -> None:
    own = f"json://127.0.0.1:{webhook.port}/project"
    Project.objects.create(name="Acme/App", notify=[notify_urls.seal(own)])
    asking()

    assert sorted(call.path for call in webhook.calls) == ["/project", "/told/s3cr3t-path"]


def test_a_run_that_completes_or_fails_is_told(webhook: Receiver) -> None:
    f.started(f.workflow({"build": [f.step("one")]}))
    work_off()

    assert ["Run completed" in call.document["title"] for call in webhook.calls] == [True]


def test_each_reminder_is_told_once_in_the_thread(
    post: MailSink, rita: User, webhook: Receiver
) -> None:
    request = f.pending(asking())
    announce.reminded(request, [])
    announce.reminded(request, [])
    request.reminded += 1
    announce.reminded(request, [])
    work_off()

    assert len(webhook.calls) == len(post.mails) == 3
    assert "Still waiting for a decision" in post.text_of()
    assert post.mails[2]["In-Reply-To"] == post.mails[0]["Message-ID"]


def test_an_escalation_reaches_whom_it_names_whatever_else_they_want(
    post: MailSink, rita: User
) -> None:
    boss = users.create("boss", role=Role.OPERATOR)
    boss.email = "boss@example.org"
    boss.save()
    NoticeSettings.objects.create(user=boss, wishes=[])
    request = f.pending(asking())
    announce.escalated(request, ["Boss"])
    work_off()

    assert [mail["To"] for mail in post.mails] == ["rita@example.org", "boss@example.org"]
    assert "Escalated to you" in post.text_of()


def test_whoever_a_request_is_handed_to_is_told(post: MailSink, rita: User) -> None:
    boss = users.create("boss", role=Role.OPERATOR)
    boss.email = "boss@example.org"
    boss.save()
    NoticeSettings.objects.create(user=boss, wishes=[])
    request = f.pending(asking())
    delegate(request.request_id, "boss", actor=users.actor_of(rita))
    work_off()

    assert [mail["To"] for mail in post.mails] == ["rita@example.org", "boss@example.org"]
    assert "Handed over to you" in post.text_of()


def test_who_is_handed_a_request_is_told(post: MailSink, rita: User, webhook: Receiver) -> None:
    paul = users.create("paul", role=Role.REVIEWER, email="paul@example.org")
    NoticeSettings.objects.create(user=paul, wishes=[])
    request = f.pending(asking())
    delegation.delegate(request.request_id, "paul", actor=users.actor_of(rita))
    work_off()

    assert [mail["To"] for mail in post.mails] == ["rita@example.org", "paul@example.org"]
    assert "Handed over to you" in post.text_of()
    assert len(webhook.calls) == 1


def test_of_an_assigned_request_only_the_assignee_is_reminded(post: MailSink, rita: User) -> None:
    users.create("paul", role=Role.REVIEWER, email="paul@example.org")
    request = f.pending(asking())
    delegation.delegate(request.request_id, "paul", actor=users.actor_of(rita))
    work_off()
    post.mails.clear()
    request.refresh_from_db()
    announce.reminded(request, request.audience)
    work_off()

    assert [mail["To"] for mail in post.mails] == ["paul@example.org"]


def test_nothing_is_noted_where_nobody_could_be_told() -> None:
    run = asking()
    f.answer(run, "approve")

    assert not Announcement.objects.exists()


def test_a_lost_job_is_found_by_the_sweep(webhook: Receiver) -> None:
    f.started(f.five_steps())
    OrmQ.objects.all().delete()
    long_ago = timezone.now() - timedelta(minutes=2)
    Announcement.objects.update(next_try_at=long_ago)
    sweep()
    work_off()

    assert len(webhook.calls) == 1
