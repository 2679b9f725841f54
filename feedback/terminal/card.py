"""Lays a request out for a terminal, as the seeds do."""

from collections.abc import Iterator

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.request_json import request_url
from runs.models import Artifact, Run
from runs.terminal.layout import card, clean, one_line

TITLE = "🎯 FABER: Feedback Required"
RULE = "─" * 39


def inline(request: FeedbackRequest) -> str:
    """Everything above the line on which somebody answers."""
    return f"{TITLE}\n{RULE}\n\n{_body(request)}"


def whole(request: FeedbackRequest) -> str:
    """The request with its answers and the text of its artifacts."""
    head = card(
        f"{request.request_id}  {request.status}",
        [
            ("Run", request.run.run_id),
            ("Work id", request.run.work_id),
            ("Asked", f"{request.requested_at:%Y-%m-%d %H:%M} UTC"),
            ("For", ", ".join(request.reviewers)),
            ("Address", request_url(request)),
        ],
    )
    answers = "\n".join(_answer(response) for response in request.responses.all())
    shown = (_artifact(artifact) for artifact in request.artifacts.all())
    return "\n\n".join(part for part in (head, _body(request), answers, *shown) if part)


def where_to_answer(request: FeedbackRequest) -> str:
    """For whoever is not asked here and now."""
    values = " | ".join(option.value for option in request.choices) or "TEXT"
    return "\n".join(
        [
            f"{request.phase}:{request.step} awaits feedback: {one_line(request.prompt)}",
            f"  faber answer {request.request_id} {values}",
            f"  {request_url(request)}",
        ]
    )


def waits_for_sync(run: Run) -> str:
    """For whoever answered a run that is executed elsewhere."""
    return f"The answer is on record; `faber sync` writes it to {run.mirrors}."


def _body(request: FeedbackRequest) -> str:
    parts = [
        f"Phase: {clean(request.phase).capitalize()} → {clean(request.step)}\n"
        f"Type: {request.feedback_type.label}",
        clean(request.prompt).strip(),
        "\n".join(_context(request)),
        "\n".join(_questions(request)),
        "\n".join(_options(request)),
    ]
    return "\n\n".join(part for part in parts if part)


def _answer(response: FeedbackResponse) -> str:
    said = f": {clean(response.comment)}" if response.comment else ""
    given = f"{clean(response.who)} ({response.source}, {response.received_at:%Y-%m-%d %H:%M} UTC)"
    return f"{given} answered {clean(response.response)}{said}"


def _artifact(artifact: Artifact) -> str:
    title = f"── {clean(artifact.path)}, revision {artifact.revision} "
    return f"{title:─<39}\n{clean(artifact.text)}".rstrip()


def _context(request: FeedbackRequest) -> Iterator[str]:
    told = request.background
    if summary := clean(told.summary).strip():
        yield f"**Summary**: {summary}"
    if paths := _artifacts(request):
        yield f"**Artifact**: {', '.join(paths)}"
    listed = {"Errors": told.errors, "Warnings": told.warnings, "Suggested fixes": told.fixes}
    for title, items in listed.items():
        if items:
            yield f"**{title}**:"
            yield from (f"  - {clean(item).strip()}" for item in items)


def _artifacts(request: FeedbackRequest) -> list[str]:
    shown = [
        f"{path} (revision {revision})" if revision > 1 else path
        for path, revision in request.artifacts.values_list("path", "revision")
    ]
    named = request.context.get("artifact_path")
    return [clean(path) for path in shown or ([named] if named else [])]


def _questions(request: FeedbackRequest) -> Iterator[str]:
    questions = request.background.questions
    if questions:
        yield "Questions:"
    for number, question in enumerate(questions, start=1):
        hint = f" ({', '.join(question.options)})" if question.options else ""
        yield clean(f"  {number}. {question.text}{hint}")


def _options(request: FeedbackRequest) -> Iterator[str]:
    if not request.choices:
        return
    yield "Options:"
    # Where any text is taken, a number is an answer and not a choice.
    numbered = not request.feedback_type.takes_text
    for number, option in enumerate(request.choices, start=1):
        name = f"{number}. {option.value}" if numbered else option.value
        yield clean(f"  {name} - {option.description}" if option.description else f"  {name}")
