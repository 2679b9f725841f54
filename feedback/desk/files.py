"""The files a request is about, as a reviewer looks at them: changed, rendered or as source."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from pathlib import PurePosixPath

from django.utils.http import urlencode

from feedback.desk.begun import Begun
from feedback.desk.forms import RemarkForm
from feedback.desk.rendered_differences import Pair, compare_rendered
from feedback.models import FeedbackRequest, FeedbackResponse, ReviewComment
from runs import rendering
from runs.domain.values.actors import Actor
from runs.domain.values.differences import Difference, Hunk, compare
from runs.models import Artifact
from runs.pages import pictures
from runs.rendering.pictures import kind_of, named_in

LINES_AT_ONCE = 2000
FOLDED_FROM = 4
LARGEST_COMPARED = 1024 * 1024  # comparing takes as long as the texts are

_MARKDOWN = frozenset({"", ".md", ".markdown"})


class FileView(StrEnum):
    CHANGES = "changes"  # side by side, rendered
    LINES = "lines"  # one under the other, as source
    DOCUMENT = "document"
    SOURCE = "source"

    @property
    def label(self) -> str:
        return {"lines": "Changed lines"}.get(self.value, self.value.capitalize())

    @property
    def compares(self) -> bool:
        return self in (FileView.CHANGES, FileView.LINES)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWish:
    """What somebody asked to see; nonsense shows what everybody sees first."""

    file: str = ""
    view: str = ""
    since: str = ""
    line: int = 0  # where a comment is to be written, without scripts
    start: int = 1  # the first line of a long source


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    number: int
    text: str
    remarks: Sequence[ReviewComment] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Neighbouring blocks of two revisions; a long stretch without changes is folded."""

    pairs: Sequence[Pair]
    is_folded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One file in one view; what the view does not need is not made."""

    artifact: Artifact
    view: FileView
    views: Sequence[FileView]
    earlier: Sequence[Artifact] = ()
    since: Artifact | None = None
    rendered: rendering.Rendered | None = None
    lines: Sequence[SourceLine] = ()
    line_count: int = 0
    difference: Difference | None = None
    groups: Sequence[Group] = ()
    picture: str = ""  # its address, when the file is one
    new_remark: RemarkForm | None = None  # without scripts, at the line the address names

    @property
    def hunks(self) -> Sequence[Hunk]:
        return self.difference.hunks if self.difference else ()

    @property
    def stretches(self) -> Sequence[tuple[int, int]]:
        """The parts a long source is shown in, by their first and last line."""
        starts = range(1, self.line_count + 1, LINES_AT_ONCE)
        return [(first, min(first + LINES_AT_ONCE - 1, self.line_count)) for first in starts]

    @property
    def line_query(self) -> str:
        """The address of the field for a comment, but for the line's number."""
        return f"?{urlencode({'view': FileView.SOURCE.value, 'file': self.artifact.path})}&line="


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibits:
    tabs: Sequence[Artifact]
    shown: Exhibit | None
    wanted: FileWish

    def __bool__(self) -> bool:
        return self.shown is not None


def exhibits_of(
    asked: FeedbackRequest,
    actor: Actor,
    wanted: FileWish,
    remarks: Sequence[ReviewComment] = (),
    begun: Sequence[Begun] = (),
) -> Exhibits:
    tabs = _without_pictures(list(asked.artifacts.defer("content").order_by("path")))
    current = next((tab for tab in tabs if tab.path == wanted.file), tabs[0] if tabs else None)
    if current is None:
        return Exhibits(tabs=tabs, shown=None, wanted=wanted)
    on_it = [remark for remark in remarks if remark.path == current.path]
    shown = _exhibit(asked, current, actor, wanted, on_it)
    if shown.view is FileView.SOURCE and wanted.line:
        shown = replace(shown, new_remark=_new_remark(current, wanted.line, begun))
    return Exhibits(tabs=tabs, shown=shown, wanted=wanted)


def difference_between(old: Artifact, new: Artifact) -> Difference:
    """What changed from one revision to another; revisions never change, so it is kept."""
    return _compared(old.text, new.text)


def last_seen(asked: FeedbackRequest, actor: Actor, path: str, before: int) -> int:
    """The revision this person last decided on, else the one before; 0 when there is none."""
    answers = FeedbackResponse.objects.filter(
        identity=actor.identity,
        request__run_id=asked.run_id,
        request__artifacts__path=path,
        request__artifacts__revision__lt=before,
    )
    newest = answers.order_by("-request__artifacts__revision")
    seen = newest.values_list("request__artifacts__revision", flat=True).first()
    return seen or before - 1


def _exhibit(
    asked: FeedbackRequest,
    artifact: Artifact,
    actor: Actor,
    wanted: FileWish,
    remarks: Sequence[ReviewComment],
) -> Exhibit:
    if not artifact.is_text:
        picture = pictures.address_of(artifact) if kind_of(bytes(artifact.content)) else ""
        return Exhibit(artifact=artifact, view=FileView.SOURCE, views=(), picture=picture)
    revisions = asked.run.revisions.filter(path=artifact.path, revision__lt=artifact.revision)
    earlier = list(revisions.defer("content").order_by("-revision"))
    if artifact.size > LARGEST_COMPARED:
        earlier = []
    views = list(FileView) if earlier else [FileView.DOCUMENT, FileView.SOURCE]
    laid_out = rendered(artifact, asked.artifacts.defer("content"))
    first = FileView.SOURCE if laid_out.is_plain else views[0]
    view = next((each for each in views if each.value == wanted.view), first)
    since = _since(asked, artifact, actor, wanted, earlier) if view.compares else None
    if since is not None and not since.is_text:
        since, view = None, FileView.DOCUMENT
    lines = artifact.lines if view is FileView.SOURCE else []
    return Exhibit(
        artifact=artifact,
        view=view,
        views=views,
        earlier=earlier,
        since=since,
        rendered=laid_out,
        lines=_source_lines(lines, wanted, remarks),
        line_count=len(lines),
        difference=difference_between(since, artifact) if since else None,
        groups=_groups(since, artifact, asked.artifacts.defer("content"))
        if since and view is FileView.CHANGES
        else (),
    )


def _new_remark(artifact: Artifact, line: int, begun: Sequence[Begun]) -> RemarkForm:
    """The field for a comment on a line, with what was begun there."""
    place = {"path": artifact.path, "revision": artifact.revision, "line": line}
    there = next((one for one in begun if one.is_at(artifact.path, line)), None)
    blank = {"kind": "must", "replacement": "\n".join(artifact.lines[line - 1 : line])}
    written = {**there.fields, "begun": there.name} if there else blank
    return RemarkForm(initial={**written, **place})


def _since(
    asked: FeedbackRequest,
    artifact: Artifact,
    actor: Actor,
    wanted: FileWish,
    earlier: Sequence[Artifact],
) -> Artifact | None:
    chosen = int(wanted.since) if wanted.since.isascii() and wanted.since.isdecimal() else 0
    if chosen not in {revision.revision for revision in earlier}:
        chosen = last_seen(asked, actor, artifact.path, artifact.revision)
    return next((revision for revision in earlier if revision.revision == chosen), None)


def _source_lines(
    lines: Sequence[str], wanted: FileWish, remarks: Sequence[ReviewComment]
) -> list[SourceLine]:
    """As many lines as a page can bear, with the one that was asked for among them."""
    start = (max(1, wanted.line or wanted.start) - 1) // LINES_AT_ONCE * LINES_AT_ONCE
    at: Mapping[int, list[ReviewComment]] = defaultdict(list)
    for remark in remarks:
        at[remark.end_line].append(remark)
    return [
        SourceLine(number=number, text=text, remarks=at.get(number, ()))
        for number, text in enumerate(lines[start : start + LINES_AT_ONCE], start=start + 1)
    ]


def _groups(old: Artifact, new: Artifact, shown: Iterable[Artifact]) -> list[Group]:
    old_html, new_html = str(rendered(old).html), str(rendered(new, shown).html)
    pairs = _paired(old_html, new_html, old.text, new.text)
    groups: list[Group] = []
    for is_same, neighbours in groupby(pairs, lambda pair: pair.kind == "same"):
        run = list(neighbours)
        if not is_same or len(run) <= FOLDED_FROM:
            groups.append(Group(pairs=run, is_folded=False))
            continue
        # What stands right beside a change helps to read it.
        before = 1 if groups else 0
        groups.append(Group(pairs=run[:before], is_folded=False))
        groups.append(Group(pairs=run[before:-1], is_folded=True))
        groups.append(Group(pairs=run[-1:], is_folded=False))
    return groups


def rendered(artifact: Artifact, shown: Iterable[Artifact] = ()) -> rendering.Rendered:
    """Laid out, with the pictures of its folder as they are shown with it."""
    return _rendered(artifact.path, artifact.text, _pictures(artifact, shown))


def _pictures(artifact: Artifact, shown: Iterable[Artifact] = ()) -> pictures.Addresses:
    is_document = PurePosixPath(artifact.path).suffix.lower() in _MARKDOWN
    return pictures.addresses_of(artifact, shown) if is_document else ()


def _without_pictures(tabs: Sequence[Artifact]) -> list[Artifact]:
    """A picture that a document shows needs no tab of its own."""
    documents = [tab for tab in tabs if PurePosixPath(tab.path).suffix.lower() in _MARKDOWN]
    if not 0 < len(documents) < len(tabs):
        return list(tabs)
    whole = Artifact.objects.filter(pk__in=[tab.pk for tab in documents])
    shown = {path for each in whole for path in named_in(each.path, each.text)}
    return [tab for tab in tabs if tab.path not in shown]


# A revision never changes, and every reviewer looks at the same few.


@lru_cache(maxsize=16)
def _rendered(path: str, text: str, kept: pictures.Addresses) -> rendering.Rendered:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _MARKDOWN:
        return rendering.render(
            text, pictures=rendering.Pictures(document=path, addresses=dict(kept))
        )
    # The fence takes a line that the file does not have.
    return rendering.render(_fenced(text, suffix[1:]), line_shift=-1)


@lru_cache(maxsize=16)
def _compared(old: str, new: str) -> Difference:
    return compare(old, new)


@lru_cache(maxsize=8)
def _paired(old_html: str, new_html: str, old: str, new: str) -> tuple[Pair, ...]:
    return compare_rendered(old_html, new_html, _compared(old, new))


def _fenced(text: str, language: str) -> str:
    """A file that is not markdown is shown as code, in a fence longer than any it holds."""
    longest = max((len(run) for run in text.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}\n"
