"""Rows that belong to one run, one request or one account, as many as a test wants."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from bench.ground.filling import like
from feedback.models import (
    FeedbackRequest,
    Inquiry,
    ReviewComment,
    StandingRule,
    WebhookDelivery,
    WebhookEndpoint,
)
from runs.models import Artifact, AuditEntry, BrowserSession, Run, StepAttempt

_FILES = [f"shown-{number}.{'png' if number == 1 else 'md'}" for number in range(10)]


def of_run(run: Run, wanted: int) -> None:
    """Attempts, files in revisions and requests of a run; and runs that were forked from it."""
    attempt = run.attempts.latest("number")
    asked = run.requests.earliest("pk")
    answer = asked.responses.get()
    for number in range(run.revisions.count(), wanted):
        tried = like(attempt, number=number + 10)
        tried.save()
        Artifact.objects.create(
            run=run,
            attempt=tried,
            path=f"notes-{number % 10}.md",
            revision=1 + number // 10,
            sha256=f"{number:064}",
            size=3,
            content=b"one",
        )
        again = like(asked, request_id=f"fr-of-run-{number}", attempt=tried, round=number + 1)
        again.save()
        again.artifacts.set(run.revisions.all()[:5])
        like(answer, request=again).save()
    Run.objects.filter(pk__gt=run.pk, pk__lte=run.pk + wanted // 2).update(rerun_of=run)


def of_request(request: FeedbackRequest, author: User, wanted: int) -> None:
    """Questions to the agent, line comments and files that a request shows."""
    attempt = StepAttempt.objects.filter(run=request.run).latest("number")
    for number in range(request.inquiries.count(), wanted):
        Inquiry.objects.create(
            request=request,
            number=number + 1,
            question="Why?",
            asked_by={"user": author.username},
            attempt=attempt,
            state=Inquiry.Stage.ANSWERED,
            answer="Because.",
            answered_at=timezone.now(),
        )
        file = Artifact.objects.create(
            run=request.run,
            attempt=attempt,
            path=_FILES[number // 2 % len(_FILES)],
            revision=1 + number % 2 + 2 * (number // 20),
            sha256=f"{number:064}",
            size=3,
            content=b"one",
        )
        ReviewComment.objects.create(
            request=request,
            author=author,
            path=file.path,
            revision=1,
            line=1,
            end_line=1,
            body="No",
        )
    newest = Artifact.objects.filter(run=request.run).order_by("path", "-revision")
    request.artifacts.set({file.path: file for file in reversed(newest)}.values())


def of_site(run: Run, owner: User, wanted: int) -> None:
    """Rules, deliveries, sessions and entries of the audit."""
    entry = AuditEntry.objects.filter(kind="decision").earliest("pk")
    endpoint = WebhookEndpoint.objects.get(endpoint_id="wh-0")
    for number in range(endpoint.deliveries.count(), wanted):
        StandingRule.objects.create(
            project=run.project,
            tool="Bash",
            pattern=f"make {number}",
            effect="allow",
            mode="on",
            made_by=owner.username,
        )
        WebhookDelivery.objects.create(
            delivery_id=f"wd-{number}",
            endpoint=endpoint,
            event="run.finished",
            event_key=str(number),
            subject=run.run_id,
            body="{}",
            is_due=False,
        )
        ends = timezone.now() + timedelta(days=1)
        session = Session.objects.create(
            session_key=f"s{number}", expire_date=ends, session_data=SessionStore().encode({})
        )
        BrowserSession.objects.create(session=session, user=owner)
        like(entry, number=None).save()
