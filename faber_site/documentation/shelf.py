"""The pages of the documentation: where they lie, and in which order they are read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from django.conf import settings

# What somebody wants to do, and the pages for it; a page in no group stands at the end.
GROUPS = {
    "Start": ("readme", "tutorial", "concepts", "faq"),
    "Review": ("reviewing", "batches", "time", "notices"),
    "Automate": ("workflows", "agents", "workspaces", "api", "webhooks", "directories"),
    "Connect": ("github", "gitlab"),
    "Operate": (
        *("operating", "proxy", "backup", "upgrade", "capacity", "troubleshooting"),
        *("security", "sign-in"),
    ),
    "Reference": ("commands", "settings", "workflow-keys", "events"),
    "Develop": ("architecture", "extending", "contributing", "changelog"),
}
# Beside the folder of the others, where people look for them first.
_AT_THE_TOP = ("README", "SECURITY", "CONTRIBUTING", "CHANGELOG")
_FILES = (".png", ".svg", ".yml", ".json")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_NO_PROSE = re.compile(r"[#<|!`\-\[]|\d+\.")


@dataclass(frozen=True)
class DocsPage:
    path: str  # in a checkout; links are written for it
    file: Path

    @property
    def name(self) -> str:
        return self.file.stem.lower()

    @cached_property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @cached_property
    def title(self) -> str:
        found = _TITLE.search(self.text)
        return "Overview" if self.name == "readme" else found[1] if found else self.name

    @cached_property
    def summary(self) -> str:
        """The first sentence of the page."""
        paragraphs = self.text.split("\n\n")
        first = next((text for text in paragraphs if not _NO_PROSE.match(text.strip())), "")
        return re.split(r"(?<=[.:]) ", plain(" ".join(first.split())))[0].rstrip(":")


def plain(markdown: str) -> str:
    """The words of a line, without its marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", markdown)


@cache
def pages() -> dict[str, DocsPage]:
    """Every page by its name, as long as the process lives."""
    return {page.name: page for page in _found()}


@cache
def files() -> dict[str, Path]:
    """What pages show or link to besides each other, by its path."""
    root: Path = settings.RESOURCES
    found = (file for file in sorted((root / "docs").rglob("*")) if file.suffix in _FILES)
    return {file.relative_to(root).as_posix(): file for file in found}


def grouped() -> dict[str, list[DocsPage]]:
    known = pages()
    named = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "More": tuple(name for name in known if name not in named)}
    listed = {
        title: [known[name] for name in names if name in known] for title, names in groups.items()
    }
    return {title: each for title, each in listed.items() if each}


def _found() -> Iterator[DocsPage]:
    root: Path = settings.RESOURCES
    for name in _AT_THE_TOP:
        if (file := root / f"{name}.md").exists():
            yield DocsPage(file.name, file)
    for file in sorted((root / "docs").glob("*.md")):
        yield DocsPage(f"docs/{file.name}", file)
