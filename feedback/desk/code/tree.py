"""The changed files as a tree of folders."""

from collections.abc import Callable, Container, Iterator, Sequence
from html import escape

from django.utils.safestring import SafeString, mark_safe

from runs.changes.values import ChangedFile
from runs.domain.values.numbers import number_of

_OPEN_UP_TO = 300  # files; a larger tree begins closed
_WHOLE_UP_TO = 1_000  # a larger one names only the files that are on the page

Folder = dict[str, "Folder | int"]  # by name: a folder, or the number of a file


def tree_of(
    files: Sequence[ChangedFile],
    here: Container[int],
    link: Callable[[int], str],
    marks: Callable[[int], str],
) -> SafeString:
    """`link` gives a file's address, `marks` its attributes, both by its number."""
    is_whole = len(files) <= _WHOLE_UP_TO
    root: Folder = {}
    for number, file in enumerate(files):
        *folders, name = file.path.split("/")
        at = root
        for folder in folders:
            inner = at.setdefault(f"{folder}/", {})
            at = inner if isinstance(inner, dict) else {}
        at[name] = number
    is_open = " open" if len(files) <= _OPEN_UP_TO else ""

    def listed(folder: Folder) -> Iterator[str]:
        yield "<ul>"
        left_out: list[int] = []
        for name, inner in folder.items():  # in the order of the files themselves
            if isinstance(inner, int) and not is_whole and inner not in here:
                left_out.append(inner)
                continue
            yield "<li>"
            if isinstance(inner, int):
                yield _file(files[inner], name, link(inner), marks(inner))
            else:
                whole, deep = _joined(name, inner)
                yield f"<details{is_open}><summary>{escape(whole)}</summary>"
                yield from listed(deep)
                yield "</details>"
            yield "</li>"
        if left_out:
            address = escape(link(left_out[0]))
            yield f'<li><a href="{address}">{number_of(len(left_out), "more file")}</a></li>'
        yield "</ul>"

    # Safe: names are escaped, all else is ours.
    return mark_safe("".join(listed(root)))  # noqa: S308


def _joined(name: str, folder: Folder) -> tuple[str, Folder]:
    """A folder with nothing but a folder in it is one line with that."""
    while len(folder) == 1:
        (inner_name, inner) = next(iter(folder.items()))
        if isinstance(inner, int):
            break
        name, folder = name + inner_name, inner
    return name, folder


def _file(file: ChangedFile, name: str, address: str, marks: str) -> str:
    return (
        f'<a href="{escape(address)}" data-status="{file.status.value}"{marks}>'
        f'<span class="tree-name">{escape(name)}</span> '
        f'<span class="diffstat">{_counts(file)}</span></a>'
    )


def _counts(file: ChangedFile) -> str:
    if file.binary:
        return "binary"
    if not file.changed_lines:
        return file.status.label
    added, removed = f"+{file.additions}", f"−{file.deletions}"
    return f'<span data-tone="good">{added}</span> <span data-tone="bad">{removed}</span>'
