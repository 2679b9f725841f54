"""What the pages show of requests, read in few queries and handed on as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from django.core.paginator import Page, Paginator
from django.db.models import Count, Max, QuerySet, Sum, prefetch_related_objects

from feedback.finding import find_request
from feedback.forms import AnswerForm
from feedback.models import FeedbackRequest, FeedbackResponse
from runs import permissions, rendering
from runs import showing as runs_shown
from runs.domain.actors import Actor
from runs.domain.errors import Refused
from runs.domain.questions import Action, Option
from runs.models import Artifact

PER_PAGE = 100
SOURCE_LINES = 5000

_PENDING = FeedbackRequest.Status.PENDING
_LOOKED_AT_FOR_NEXT = 20
_MARKDOWN = frozenset({"", ".md", ".markdown"})
_LISTED = (
    "request_id",
    "type",
    "prompt",
    "phase",
    "step",
    "reviewers",
    "requested_at",
    "run__run_id",
    "run__uuid",
    "run__work_id",
    "run__project__name",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    leaf: Page[FeedbackRequest]
    version: str

    @property
    def count(self) -> int:
        return self.leaf.paginator.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    option: Option
    weight: str  # main, plain, or stop for what ends the run


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the step said about itself; whoever wrote it, each part has its type."""

    summary: str
    errors: Sequence[str]
    warnings: Sequence[str]
    analysis: str
    fixes: Sequence[str]
    output_tail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactShown:
    artifact: Artifact
    rendered: rendering.Rendered | None = None  # None when it is not text
    lines: Sequence[str] = ()  # only when the source is asked for
    lines_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where an answer is given, and where it is seen afterwards."""

    asked: FeedbackRequest
    form: AnswerForm
    buttons: Sequence[Button]
    refusal: str
    answers: Sequence[FeedbackResponse]
    progress: runs_shown.Progress
    following: FeedbackRequest | None
    version: str

    @property
    def is_open(self) -> bool:
        return self.asked.status == _PENDING


def inbox(page_number: str) -> Inbox:
    return Inbox(leaf=Paginator(_open(), PER_PAGE).get_page(page_number), version=inbox_version())


def inbox_version() -> str:
    """Changes whenever a request is opened or closed."""
    pending = FeedbackRequest.objects.filter(status=_PENDING)
    known = pending.aggregate(count=Count("pk"), newest=Max("pk"), total=Sum("pk"))
    return f"{known['count']}-{known['newest'] or 0}-{known['total'] or 0}"


def find(request_id: str) -> FeedbackRequest:
    asked = find_request(request_id)
    prefetch_related_objects([asked], "run__project", "responses")
    return asked


def version_of(asked: FeedbackRequest) -> str:
    return f"{asked.status}-{len(asked.responses.all())}"


def desk(asked: FeedbackRequest, actor: Actor, form: AnswerForm | None = None) -> Desk:
    is_open = asked.status == _PENDING
    return Desk(
        asked=asked,
        form=form or AnswerForm(asked),
        buttons=_buttons(asked),
        refusal=_refusal(asked, actor) if is_open else "",
        answers=list(asked.responses.all()),
        progress=runs_shown.progress_of(asked.run),
        following=None if is_open else _following(asked, actor),
        version=version_of(asked),
    )


def evidence_of(asked: FeedbackRequest) -> Evidence:
    told: Mapping[str, object] = asked.context
    summary = _text(told.get("summary"))
    return Evidence(
        summary="" if summary in asked.prompt else summary,
        errors=_texts(told.get("errors")),
        warnings=_texts(told.get("warnings")),
        analysis=_text(told.get("error_analysis")) or _text(told.get("warning_analysis")),
        fixes=_texts(told.get("suggested_fixes")),
        output_tail=_text(told.get("output_tail")),
    )


def artifacts_of(asked: FeedbackRequest, *, source: bool) -> list[ArtifactShown]:
    return [_shown(artifact, source=source) for artifact in asked.artifacts.order_by("path")]


def _open() -> QuerySet[FeedbackRequest]:
    requests = FeedbackRequest.objects.filter(status=_PENDING).order_by("requested_at", "id")
    return requests.select_related("run__project").only(*_LISTED)


def _refusal(asked: FeedbackRequest, actor: Actor) -> str:
    already = {response.identity for response in asked.responses.all()}
    try:
        permissions.check_may_answer(actor, asked.run, reviewers=asked.reviewers, already=already)
    except Refused as error:
        return str(error)
    return ""


def _following(asked: FeedbackRequest, actor: Actor) -> FeedbackRequest | None:
    """The oldest open request that this person may answer."""
    others = FeedbackRequest.objects.filter(status=_PENDING).exclude(pk=asked.pk)
    oldest = others.select_related("run__project").defer("run__plan", "context", "options")
    for other in oldest.order_by("requested_at", "id")[:_LOOKED_AT_FOR_NEXT]:
        if not permissions.refusal_to_answer(actor, other.run, other.reviewers):
            return other
    return None


def _buttons(asked: FeedbackRequest) -> list[Button]:
    """One button stands out, unless several options would go on: then none is suggested."""
    goes_on = [o for o in asked.choices if o.action in (Action.CONTINUE, Action.RETRY)]
    main = goes_on[0] if len(goes_on) == 1 else None
    return [Button(option=option, weight=_weight(option, main)) for option in asked.choices]


def _weight(option: Option, main: Option | None) -> str:
    if option.action is Action.ABORT:
        return "stop"
    return "main" if option == main else "plain"


def _shown(artifact: Artifact, *, source: bool) -> ArtifactShown:
    if b"\0" in bytes(artifact.content):
        return ArtifactShown(artifact=artifact)
    lines = _lines(artifact.text) if source else []
    return ArtifactShown(
        artifact=artifact,
        rendered=_rendered(_as_markdown(artifact.path, artifact.text)),
        lines=lines[:SOURCE_LINES],
        lines_left_out=max(0, len(lines) - SOURCE_LINES),
    )


def _lines(text: str) -> list[str]:
    """The lines as renderers and editors count them, which is not how `splitlines` does."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


@lru_cache(maxsize=16)
def _rendered(text: str) -> rendering.Rendered:
    """A revision never changes, and every reviewer looks at the same one."""
    return rendering.render(text)


def _as_markdown(path: str, text: str) -> str:
    """A file that is not markdown is shown as code, in a fence longer than any it holds."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _MARKDOWN:
        return text
    longest = max((len(run) for run in text.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{suffix[1:]}\n{text}{end}{fence}\n"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
