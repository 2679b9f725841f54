"""Lays a request out for a terminal, as the seeds do."""

from collections.abc import Iterator

from feedback.models import FeedbackRequest, FeedbackResponse, Inquiry
from feedback.requests import shown
from feedback.requests.code_changes import total_of
from feedback.requests.request_json import request_url
from feedback.terminal.viewing import content_of, parts_of
from runs.domain.responses import usage
from runs.domain.values.background import BackgroundSection
from runs.models import Artifact, Run
from runs.terminal.layout import card, clean, one_line

TITLE = "🎯 FABER: Feedback Required"
RULE = "─" * 39
QUESTIONS = "questions"  # these stand right above the answer
FEW = 5
MOST_LINES = 60  # of one part, so that the question stays on the screen
_UNANSWERED = {"pending": "(waiting for the answer)", "closed": "(closed without an answer)"}
AGAIN = "The content changed since you saw it, so the run asks again."


def inline(request: FeedbackRequest) -> str:
    """Everything above the line on which somebody answers."""
    return f"{TITLE}\n{RULE}\n\n{_body(request)}"


def heading(request: FeedbackRequest) -> str:
    """What stands above the card: what it is about, and which round it is."""
    return one_line(" · ".join(filter(None, [request.title, request.round_name])))


def whole(request: FeedbackRequest) -> str:
    """The request with its answers and the text of its artifacts."""
    files = (_artifact(artifact) for artifact in request.artifacts.all())
    return "\n\n".join([_told(request), *files])


def _told(request: FeedbackRequest) -> str:
    head = card(
        f"{request.request_id}  {request.status}",
        [
            ("Title", request.title),
            ("Run", request.run.run_id),
            ("Work id", request.run.work_id),
            ("Asked", f"{request.requested_at:%Y-%m-%d %H:%M} UTC"),
            ("Asked again", request.repeats and f"refused before in {request.repeats}"),
            ("Due", _due(request)),
            ("For", ", ".join(request.reviewers)),
            ("Assigned to", _assigned(request)),
            ("Round", request.round_name.removeprefix("Round ")),
            ("Limit", request.round_limit),
            ("Agent", request.agent),
            ("Cost", usage.spoken({usage.COST: request.cost_usd})),
            ("URL", request_url(request)),
        ],
    )
    answers = "\n".join(_answer(response) for response in request.responses.all())
    asked = "\n\n".join(_inquiry(inquiry) for inquiry in request.inquiries.all())
    return "\n\n".join(part for part in (head, _body(request), asked, answers) if part)


def _assigned(request: FeedbackRequest) -> str:
    if not request.delegated:
        return request.assignee
    handed = request.delegated[-1]
    said = f": {handed['comment']}" if handed.get("comment") else ""
    return f"{request.assignee} (handed over by {handed['from']}{said})"


def _due(request: FeedbackRequest) -> str:
    if request.due_at is None:
        return ""
    then = f", then {request.on_timeout} is taken" if request.on_timeout else ""
    late = " (late)" if request.is_late else ""
    return f"{request.due_at:%Y-%m-%d %H:%M} UTC{late}{then}"


def where_to_answer(request: FeedbackRequest) -> str:
    """For whoever is not asked here and now."""
    values = " | ".join(option.value for option in request.choices) or "TEXT"
    return "\n".join(
        [
            *([] if request.title == request.prompt else [one_line(request.title)]),
            f"{request.phase}:{request.step} awaits feedback: {one_line(request.prompt)}",
            *(f"  {line}" for line in _in_short(request)),
            f"  faber answer {request.request_id} {values}",
            f"  {request_url(request)}",
        ]
    )


def _in_short(request: FeedbackRequest) -> Iterator[str]:
    """What there is to know before answering; all of it is on the card."""
    for section in request.background.sections:
        yield f"{section.title}:"
        yield from (f"  {one_line(line)}" for line in section.lines[:FEW])
        if more := section.lines[FEW:]:
            yield f"  and {len(more)} more: faber show {request.request_id}"


def asked_again(request: FeedbackRequest) -> str:
    """For whoever decided on files that are others by now; else nothing."""
    newer = shown.newer(request)
    return f"Answer recorded. {AGAIN}\n{where_to_answer(newer)}" if newer else ""


def waits_for_sync(run: Run) -> str:
    """For whoever answered a run that is executed elsewhere."""
    return f"Answer recorded. `faber sync` writes it to {run.mirrors}."


def _body(request: FeedbackRequest) -> str:
    parts = [
        "\n".join(_place(request)),
        clean(request.prompt).strip(),
        "\n".join(_context(request)),
        "\n".join(_questions(request)),
        "\n".join(_options(request)),
    ]
    return "\n\n".join(part for part in parts if part)


def _place(request: FeedbackRequest) -> Iterator[str]:
    yield f"Phase: {clean(request.phase).capitalize()} → {clean(request.step)}"
    yield f"Type: {request.feedback_type.label}"
    if due := _due(request):
        yield f"Due: {due}"


def _answer(response: FeedbackResponse) -> str:
    said = f": {clean(response.comment)}" if response.comment else ""
    where = ", ".join([response.source, *response.marks])
    given = f"{clean(response.who)} ({where}, {response.received_at:%Y-%m-%d %H:%M} UTC)"
    why = response.override.get("reason")
    because = f" [override of {response.override['rule']}: {clean(str(why))}]" if why else ""
    return f"{given} answered {clean(response.response)}{because}{said}"


def _inquiry(inquiry: Inquiry) -> str:
    """A question to the agent with its reply, or why there is none."""
    said = inquiry.answer or inquiry.problem or _UNANSWERED[inquiry.status]
    agent = clean(inquiry.agent or inquiry.token or "the agent")
    return f"{clean(inquiry.who)} asked: {clean(inquiry.question)}\n{agent}: {clean(said)}"


def on_screen(request: FeedbackRequest) -> str:
    """The same with its files laid out for somebody who reads."""
    from runs.terminal.screen import document  # noqa: PLC0415  pipes need not pay for rich

    pieces = [
        document(clean(part.title), clean(part.text), is_markdown=part.is_markdown)
        for part in parts_of(request)
    ]
    return "\n\n".join([_told(request), *pieces])


def _artifact(artifact: Artifact) -> str:
    title = f"── {clean(artifact.path)}, revision {artifact.revision} "
    return f"{title:─<39}\n{clean(content_of(artifact))}".rstrip()


def _context(request: FeedbackRequest) -> Iterator[str]:
    if summary := clean(request.background.summary).strip():
        yield f"**Summary**: {summary}"
    if paths := _artifacts(request):
        yield f"**Artifact**: {', '.join(paths)}"
    if request.snapshot and request.snapshot.files:
        yield f"**Changes**: {total_of(request.snapshot)} (faber diff {request.run.short_id})"
    for section in request.background.sections:
        if section.name != QUESTIONS:
            yield _section(section, f"**{section.title}**:")


def _artifacts(request: FeedbackRequest) -> list[str]:
    files = [
        f"{path} (revision {revision})" if revision > 1 else path
        for path, revision in request.artifacts.values_list("path", "revision")
    ]
    named = request.context.get("artifact_path")
    # What a step named and nobody can see is told among the files not shown.
    named = None if request.background.unshown else named
    return [clean(path) for path in files or ([named] if named else [])]


def _questions(request: FeedbackRequest) -> Iterator[str]:
    for section in request.background.sections:
        if section.name == QUESTIONS:
            yield _section(section, f"{section.title}:")


def _section(section: BackgroundSection, title: str) -> str:
    lines = [line for item in section.lines for line in clean(item).strip().split("\n")]
    left_out = len(lines) - MOST_LINES if section.one else 0
    if left_out > 0:
        # What went wrong stands at the end of what was printed.
        lines = [f"[… {left_out} lines omitted; see the request page …]", *lines[-MOST_LINES:]]
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _options(request: FeedbackRequest) -> Iterator[str]:
    if not request.choices:
        return
    yield "Options:"
    # Where any text is taken, a number is an answer and not a choice.
    numbered = not request.feedback_type.takes_text
    for number, option in enumerate(request.choices, start=1):
        name = f"{number}. {option.value}" if numbered else option.value
        yield clean(f"  {name} - {option.description}" if option.description else f"  {name}")
