"""What the tab of code changes shows, read in few queries and handed on as values."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import AbstractBaseUser
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from feedback.desk.code import noise
from feedback.desk.code.lines import Colours, Line, LineOptions, hunk_rows, plain_rows
from feedback.desk.code.patches import CodeHunk, CodeRow, read_patch
from feedback.desk.code.tree import tree_of
from feedback.models import FeedbackRequest, ReviewComment, ViewedFile
from runs.changes import store
from runs.changes.paths import outside
from runs.changes.values import ChangedFile, Changes, FileContent, FileStatus, Since
from runs.models import CodeSnapshot

FILES_AT_ONCE = 100
# What is open when the page comes: as much as is read first. The rest comes when it is opened.
_OPEN_LINES = 400
_LONGEST_OPEN = 250
_MOST_CONTEXT = 2_000  # unchanged lines that are shown at once
_ONE_SIDED = (FileStatus.ADDED, FileStatus.DELETED)

IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesWish:
    """What somebody asked to see; nonsense shows what everybody sees first."""

    since: str = ""
    layout: str = ""
    path: str = ""
    side: str = ""
    line: int = 0  # where a comment is to be written, without scripts
    first: int = 0  # unchanged lines that are asked for: from here
    last: int = 0  # to here
    is_whole: bool = False  # every unchanged line


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGap:
    """Unchanged lines that are not shown."""

    first: int  # in the new file
    last: int
    query: str

    @property
    def count(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeStretch:
    """Lines that are shown, and what is left out before them."""

    html: SafeString
    heading: str = ""
    gap: CodeGap | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBody:
    stretches: Sequence[CodeStretch] = ()
    rest: CodeGap | None = None
    images: Sequence[tuple[str, str]] = ()  # a label, and an address
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSection:
    number: int
    file: ChangedFile
    query: str  # its address on this page
    is_open: bool
    is_noise: bool
    is_outside: bool
    is_viewed: bool
    is_split: bool
    body: FileBody | None = None  # None until it is opened


class CodeTab:
    """The code changes of one request, as one person looks at them."""

    def __init__(
        self,
        asked: FeedbackRequest,
        kept: CodeSnapshot,
        viewer: AbstractBaseUser,
        wanted: ChangesWish,
        *,
        remarks: Sequence[ReviewComment] = (),
        comment_field: Callable[[Mapping[str, object]], str] | None = None,
    ) -> None:
        self.asked, self.kept = asked, kept
        self._comment_field = comment_field  # None for whoever may not comment
        self._viewer, self._wanted = viewer, wanted
        self._remarks = [remark for remark in remarks if remark.side]
        self.has_rounds = kept.previous_id is not None
        self.since = _since(kept, wanted)
        self.is_split = wanted.layout == "split"

    @property
    def can_comment(self) -> bool:
        return self._comment_field is not None

    @cached_property
    def changes(self) -> Changes:
        return store.load(self.kept, self.since)

    @property
    def has_files(self) -> bool:
        """Whether there are artifacts besides."""
        return self.asked.artifacts.exists()

    @property
    def files(self) -> Sequence[ChangedFile]:
        return self.changes.listing.files

    @property
    def branch(self) -> str:
        return str(self.asked.run.artifacts.get("branch_name") or "")

    @property
    def pull_request(self) -> str:
        address = str(self.asked.run.artifacts.get("pr_url") or "")
        return address if address.startswith(("https://", "http://")) else ""

    # Addresses

    @property
    def query(self) -> str:
        return f"?{urlencode(self._choices)}"

    @property
    def _choices(self) -> dict[str, str]:
        layout = "split" if self.is_split else "unified"
        return {"tab": "changes", "since": self.since.value, "layout": layout}

    def _address(self, file: ChangedFile) -> str:
        return f"?{urlencode({**self._choices, 'path': file.path})}"

    # The files, so many at once

    @cached_property
    def _at(self) -> int:
        """The file that was asked for."""
        named = (n for n, file in enumerate(self.files) if file.path == self._wanted.path)
        return next(named, -1)

    @property
    def _first(self) -> int:
        return max(0, self._at) // FILES_AT_ONCE * FILES_AT_ONCE

    @property
    def pages(self) -> Sequence[tuple[str, str, bool]]:
        """The parts that many files are shown in: the name, the address, whether it is here."""
        if len(self.files) <= FILES_AT_ONCE:
            return ()
        starts = range(0, len(self.files), FILES_AT_ONCE)
        return [
            (
                f"{start + 1}–{min(start + FILES_AT_ONCE, len(self.files))}",
                self._address(self.files[start]),
                start == self._first,
            )
            for start in starts
        ]

    @cached_property
    def sections(self) -> Sequence[FileSection]:
        shown = list(enumerate(self.files))[self._first : self._first + FILES_AT_ONCE]
        opened = self._opened([number for number, _ in shown])
        contents = store.contents_of(self.files[number] for number in opened)
        return [
            self._section(number, file, contents if number in opened else None)
            for number, file in shown
        ]

    def section(self) -> FileSection | None:
        """The file that was asked for, with its lines."""
        if self._at < 0:
            return None
        file = self.files[self._at]
        return self._section(self._at, file, store.contents_of([file]))

    def _opened(self, numbers: Sequence[int]) -> set[int]:
        opened, room = {self._at} & set(numbers), _OPEN_LINES
        for number in numbers:
            file = self.files[number]
            if self._is_quiet(file) or file.changed_lines > min(room, _LONGEST_OPEN):
                continue
            opened.add(number)
            room -= file.changed_lines + 10
        return opened

    def _is_quiet(self, file: ChangedFile) -> bool:
        """Whether its lines say little: it comes closed."""
        is_gone = file.status is FileStatus.DELETED
        return is_gone or noise.is_noise(file.path) or self._is_viewed(file)

    def _section(
        self, number: int, file: ChangedFile, contents: Mapping[str, FileContent] | None
    ) -> FileSection:
        content = (contents or {}).get(file.part, FileContent())
        is_wanted = number == self._at
        is_noise = noise.is_noise(file.path) or noise.says_so(content.new)
        is_open = contents is not None and (is_wanted or not is_noise)
        return FileSection(
            number=number,
            file=file,
            query=self._address(file),
            is_open=is_open,
            is_noise=is_noise,
            is_outside=file.path in self.outside,
            is_viewed=self._is_viewed(file),
            is_split=self._is_split(file),
            body=self._body(number, file, content) if is_open else None,
        )

    def _is_split(self, file: ChangedFile) -> bool:
        """A file that has one side only needs no empty half beside it."""
        return self.is_split and file.status not in _ONE_SIDED

    @cached_property
    def outside(self) -> frozenset[str]:
        """Files that no step of the plan was to touch, where the workflow says which it is."""
        globs = self.asked.run.frozen_plan.meant_paths
        return frozenset(outside(globs, (file.path for file in self.files)))

    # What was viewed

    @cached_property
    def _viewed(self) -> Mapping[str, str]:
        marks = ViewedFile.objects.filter(run_id=self.asked.run_id, viewer_id=self._viewer.pk)
        return dict(marks.values_list("path", "part"))

    def _is_viewed(self, file: ChangedFile) -> bool:
        return self._viewed.get(file.path[:500]) == file.part

    @property
    def viewed_count(self) -> int:
        return sum(map(self._is_viewed, self.files))

    @cached_property
    def tree(self) -> SafeString:
        here = range(self._first, self._first + FILES_AT_ONCE)

        def link(number: int) -> str:
            address = "" if number in here else self._address(self.files[number])
            return f"{address}#change-{number}"

        def marks(number: int) -> str:
            file = self.files[number]
            viewed = " data-viewed" if self._is_viewed(file) else ""
            return f"{viewed} data-outside" if file.path in self.outside else viewed

        return tree_of(self.files, here, link, marks)

    # The lines of one file

    def _body(self, number: int, file: ChangedFile, content: FileContent) -> FileBody:
        if file.binary:
            images = self._images(file, content)
            return FileBody(images=images, note="" if images else "Binary file")
        if content.patch is None:
            return FileBody(note=f"Too large to show: {file.changed_lines} changed lines")
        hunks = read_patch(content.patch)
        if not hunks:
            return FileBody(note=_without_lines(file))
        options, colours = self._options(number, file), Colours(file.path, content)
        lines = None if content.new is None else content.new.decode(errors="replace").split("\n")
        is_whole = self._wanted.is_whole and number == self._at
        if is_whole and lines and len(lines) <= _MOST_CONTEXT:
            hunks = [_filled(hunks, lines)]
        return self._stretches(file, hunks, colours, options, lines)

    def _stretches(
        self,
        file: ChangedFile,
        hunks: Sequence[CodeHunk],
        colours: Colours,
        options: LineOptions,
        lines: Sequence[str] | None,
    ) -> FileBody:
        at, stretches = 1, []
        for hunk in hunks:
            gap = self._gap(file, at, hunk.new_first - 1, lines)
            html = hunk_rows(hunk, colours, options)
            stretches.append(CodeStretch(html=html, heading=hunk.heading, gap=gap))
            at = hunk.new_next
        last = len(lines) - (1 if lines and not lines[-1] else 0) if lines else 0
        return FileBody(stretches=stretches, rest=self._gap(file, at, last, lines))

    def _gap(
        self, file: ChangedFile, first: int, last: int, lines: Sequence[str] | None
    ) -> CodeGap | None:
        if lines is None or last < first:
            return None
        place = {"path": file.path, "first": str(first), "last": str(last)}
        query = urlencode({**self._choices, **place})
        return CodeGap(first=first, last=last, query=f"?{query}")

    def _options(self, number: int, file: ChangedFile) -> LineOptions:
        beside: dict[Line, list[ReviewComment]] = defaultdict(list)
        for remark in self._remarks:
            if remark.path == file.path:
                beside[remark.side, remark.end_line].append(remark)
        return LineOptions(
            address=self._address(file),
            number=number,
            is_split=self._is_split(file),
            can_comment=self.can_comment,
            remarks=beside,
            form=self._form(number, file),
        )

    def _form(self, number: int, file: ChangedFile) -> dict[Line, str]:
        wanted = self._wanted
        if self._comment_field is None or not wanted.line or number != self._at:
            return {}
        place = {"path": file.path, "line": wanted.line, "side": wanted.side, "kind": "must"}
        return {(wanted.side, wanted.line): self._comment_field(place)}

    def more_lines(self) -> CodeStretch | None:
        """Unchanged lines between two changes, as far as they were asked for."""
        section, wanted = self.section(), self._wanted
        if section is None:
            return None
        content = store.content_of(section.file)
        if content.new is None or content.patch is None:
            return None
        lines = content.new.decode(errors="replace").split("\n")
        first, last = max(1, wanted.first), min(wanted.last, len(lines))
        last = min(last, first + _MOST_CONTEXT - 1)
        shift = _shift(read_patch(content.patch), first)
        rows = [
            CodeRow(kind="same", old=at + shift, new=at, text=lines[at - 1])
            for at in range(first, last + 1)
        ]
        options = self._options(section.number, section.file)
        colours = Colours(section.file.path, content)
        gap = self._gap(section.file, last + 1, min(wanted.last, len(lines)), lines)
        return CodeStretch(html=plain_rows(rows, colours, options), gap=gap)

    def _images(self, file: ChangedFile, content: FileContent) -> Sequence[tuple[str, str]]:
        if not file.path.lower().endswith(tuple(IMAGES)):
            return ()
        base = f"changes/{self.since.value}"
        sides = (("Before", "old", content.old), ("After", "new", content.new))
        return [
            (label, f"{base}/{side}/{file.part}") for label, side, kept in sides if kept is not None
        ]


def _since(kept: CodeSnapshot, wanted: ChangesWish) -> Since:
    """What grew since the round before, where there was one."""
    if kept.previous_id is None or wanted.since == Since.BASE:
        return Since.BASE
    return Since.ROUND


def _without_lines(file: ChangedFile) -> str:
    if file.old_path:
        return "No lines changed"
    return "Empty file" if not file.changed_lines else "No lines changed"


def _filled(hunks: Sequence[CodeHunk], lines: Sequence[str]) -> CodeHunk:
    """All hunks as one, with the lines between them."""
    count = len(lines) - (1 if not lines[-1] else 0)
    rows: list[CodeRow] = []
    old, new = 1, 1

    def fill(until: int) -> None:
        nonlocal old, new
        while new < until:
            rows.append(CodeRow(kind="same", old=old, new=new, text=lines[new - 1]))
            old, new = old + 1, new + 1

    for hunk in hunks:
        fill(hunk.new_first)
        rows.extend(hunk.rows)
        old, new = hunk.old_next, hunk.new_next
    fill(count + 1)
    return CodeHunk(heading="", rows=tuple(rows), old_first=1, new_first=1)


def _shift(hunks: Sequence[CodeHunk], new: int) -> int:
    """How much larger the number of an unchanged line was in the old file."""
    before = [hunk for hunk in hunks if hunk.new_next <= new]
    return before[-1].old_next - before[-1].new_next if before else 0
