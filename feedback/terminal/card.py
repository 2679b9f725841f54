"""Lays a request out for a terminal, as the seeds do."""

from collections.abc import Iterator

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.request_json import request_url
from runs.domain.values.questions import FeedbackType
from runs.models import Artifact, Run
from runs.terminal.layout import card, clean, one_line

TITLE = "🎯 FABER: Feedback Required"
RULE = "─" * 39
_LISTED = {
    "errors": "Errors",
    "warnings": "Warnings",
    "suggested_fixes": "Suggested fixes",
}


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
    summary = clean(request.context.get("summary", "")).strip()
    # A failure's prompt already ends with what the step said.
    if summary and summary not in request.prompt:
        yield f"**Summary**: {summary}"
    if paths := _artifacts(request):
        yield f"**Artifact**: {', '.join(paths)}"
    for key, title in _LISTED.items():
        given = request.context.get(key)
        if isinstance(given, list) and given:
            yield f"**{title}**:"
            yield from (f"  - {clean(item).strip()}" for item in given)


def _artifacts(request: FeedbackRequest) -> list[str]:
    shown = [
        f"{path} (revision {revision})" if revision > 1 else path
        for path, revision in request.artifacts.values_list("path", "revision")
    ]
    named = request.context.get("artifact_path")
    return [clean(path) for path in shown or ([named] if named else [])]


def _questions(request: FeedbackRequest) -> Iterator[str]:
    form = request.context.get("questions")
    if not isinstance(form, list) or not form:
        return
    yield "Questions:"
    for number, question in enumerate(form, start=1):
        choices = ", ".join(map(str, question.get("options", ())))
        hint = f" ({choices})" if choices else ""
        yield clean(f"  {number}. {question.get('question', '')}{hint}")


def _options(request: FeedbackRequest) -> Iterator[str]:
    if not request.choices:
        return
    yield "Options:"
    # A clarification takes any text, so a number there is an answer, not a choice.
    numbered = request.feedback_type is not FeedbackType.CLARIFICATION
    for number, option in enumerate(request.choices, start=1):
        name = f"{number}. {option.value}" if numbered else option.value
        yield clean(f"  {name} - {option.description}" if option.description else f"  {name}")
