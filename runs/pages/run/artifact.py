"""One revision of a file, laid out for reading, beside the others of the same path."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from runs import rendering
from runs.domain.values.errors import NotFound
from runs.models import Artifact, Run
from runs.pages.pictures import address_of, addresses_of
from runs.rendering.pictures import kind_of

SHOWN_LINES = 5000
_MARKDOWN = frozenset({"", ".md", ".markdown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileShown:
    artifact: Artifact
    revisions: Sequence[Artifact]  # of the same path, newest first
    rendered: rendering.Rendered | None = None
    lines: Sequence[str] = ()
    lines_left_out: int = 0
    is_text: bool = True
    picture: str = ""  # its address, when the file is one
    has_layout: bool = False  # it can be shown rendered as well as in its source


def file_of(run: Run, revision: int, path: str, *, source: bool) -> FileShown:
    # PostgreSQL fails on a NUL instead of finding nothing.
    kept = run.revisions.filter(path=path.replace("\0", "\ufffd")).order_by("-revision")
    artifact = kept.filter(revision=revision).first()
    if artifact is None:
        raise NotFound(f"There is no revision {revision} of {path}.")
    revisions = list(kept.defer("content"))
    if not artifact.is_text:
        picture = address_of(artifact) if kind_of(bytes(artifact.content)) else ""
        return FileShown(artifact=artifact, revisions=revisions, is_text=False, picture=picture)
    has_layout = PurePosixPath(path).suffix.lower() in _MARKDOWN
    if has_layout and not source:
        return FileShown(
            artifact=artifact,
            revisions=revisions,
            rendered=rendering.render(artifact.text, pictures=_pictures(artifact)),
            has_layout=True,
        )
    lines = artifact.lines
    return FileShown(
        artifact=artifact,
        revisions=revisions,
        lines=lines[:SHOWN_LINES],
        lines_left_out=max(0, len(lines) - SHOWN_LINES),
        has_layout=has_layout,
    )


def _pictures(document: Artifact) -> rendering.Pictures:
    return rendering.Pictures(document=document.path, addresses=dict(addresses_of(document)))
