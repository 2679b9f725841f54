from typing import Any

from django.core.management.base import CommandParser

from feedback.models import FeedbackRequest
from feedback.requests.request_json import request_shapes
from runs.accounts import permissions
from runs.domain.values.status import RequestStatus
from runs.terminal import identity, layout
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "List open requests, oldest first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", metavar="P", help="only this project")
        parser.add_argument("--mine", action="store_true", help="only requests you can answer")

    def reply(self, **options: Any) -> Reply:
        requests = FeedbackRequest.objects.filter(status=RequestStatus.PENDING).select_related(
            "run__project", "delivery"
        )
        if options["project"]:
            requests = requests.filter(run__project__name__iexact=options["project"])
        shown = list(requests.prefetch_related("responses"))
        if options["mine"]:
            shown = _mine(shown)
        return Reply(
            document={"items": request_shapes(shown), "next_cursor": None},
            text=self._table(shown) if shown else "No open requests.",
        )

    def _table(self, requests: list[FeedbackRequest]) -> str:
        return layout.columns(
            ("REQUEST", "TITLE", "PROJECT", "WORK", "TYPE", "STEP", "AGE", "DUE", "QUESTION"),
            [_row(request) for request in requests],
            colour=self.in_colour,
            bends=("TITLE", "QUESTION"),
            goes=("WORK", "PROJECT", "STEP", "TITLE", "QUESTION", "DUE", "AGE"),
        )


def _row(request: FeedbackRequest) -> tuple[object, ...]:
    return (
        request.request_id,
        layout.one_line(request.title, layout.TITLE),
        request.run.project.name,
        request.run.work_id,
        request.type,
        f"{request.phase}:{request.step}",
        layout.age(request.requested_at),
        _due(request),
        request.prompt,
    )


def _due(request: FeedbackRequest) -> str:
    if request.due_at is None:
        return ""
    return f"{request.due_at:%Y-%m-%d %H:%M}{' late' if request.is_late else ''}"


def _mine(requests: list[FeedbackRequest]) -> list[FeedbackRequest]:
    actor = identity.cli_actor()
    return [
        request
        for request in requests
        if not permissions.refusal_to_answer(actor, request.run, request.deciders)
        and (not request.assignee or permissions.is_called(actor, request.assignee))
        and not request.responses.filter(identity=actor.identity, imported=False).exists()
    ]
