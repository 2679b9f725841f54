"""Everything that belongs to a request and is too long for its card, in the reader's own pager."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from feedback.models import FeedbackRequest
from feedback.terminal import differences
from runs.changes import store
from runs.models import Artifact
from runs.terminal import pager
from runs.terminal.layout import clean, size

KEY = "v"
_MARKDOWN = (".md", ".markdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    title: str
    text: str
    is_markdown: bool = False


def parts_of(request: FeedbackRequest) -> Iterator[ShownPart]:
    """What the pager shows, one after the other; whatever else belongs there is added here."""
    for artifact in request.artifacts.order_by("path"):
        yield ShownPart(
            title=f"{artifact.path}, revision {artifact.revision}",
            text=content_of(artifact),
            is_markdown=artifact.path.casefold().endswith(_MARKDOWN),
        )
    if printed := request.background.output_tail.strip():
        yield ShownPart(title="End of output", text=printed)


def content_of(artifact: Artifact) -> str:
    """Its text; an image or archive has none that a terminal could show."""
    return artifact.text if artifact.is_text else f"Binary file, {size(len(artifact.content))}"


def is_there(request: FeedbackRequest) -> bool:
    return (
        bool(request.background.output_tail.strip())
        or bool(request.snapshot and request.snapshot.files)
        or request.artifacts.exists()
    )


def page(request: FeedbackRequest) -> None:
    """Show it all and come back when the reader has seen enough."""
    from runs.terminal.screen import document  # noqa: PLC0415  pipes need not pay for rich

    current = FeedbackRequest.objects.select_related("snapshot").get(pk=request.pk)
    pieces = [
        document(clean(part.title), clean(part.text), is_markdown=part.is_markdown)
        for part in parts_of(current)
    ]
    if current.snapshot and current.snapshot.files:
        pieces.append(differences.coloured(store.load(current.snapshot)))
    # On standard error like the prompt: standard output may be a file.
    pager.show("\n\n".join(pieces) + "\n", on=sys.stderr)
