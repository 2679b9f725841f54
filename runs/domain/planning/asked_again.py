"""A question that is asked again, because a file or the code is not what was decided on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runs.domain.values.questions import Question

KEY = "changed_files"  # in the context of a question that is asked again


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What became of a file that people decided on."""

    path: str
    shown: int | None  # the revision that was decided on; None when there was nothing to show
    now: int | None  # the revision it is kept as; None when there is nothing to read
    why: str = ""  # why there is nothing to read

    def __str__(self) -> str:
        if self.now is None:
            return f"{self.path}, shown as revision {self.shown}, {self.why}"
        if self.shown is None:
            return f"{self.path}, which was gone, is there again as revision {self.now}"
        return f"{self.path} changed after revision {self.shown} was shown: now revision {self.now}"

    def shape(self) -> dict[str, object]:
        shape: dict[str, object] = {"path": self.path, "shown": self.shown, "now": self.now}
        return {**shape, "why": self.why} if self.why else shape


def ask_again(
    question: Question,
    *,
    after: str,
    changes: Sequence[FileChange],
    gone: Sequence[str],
    code: str = "",
) -> Question:
    """The same question about what is there now; it says what changed, and when.

    `code` is the commit that shows the code as it is now, if that changed.
    """
    told: dict[str, object] = {
        "after": after,  # the request whose answer did not count
        "prompt": original_prompt(question),
        "files": [change.shape() for change in changes],
        "gone": sorted(gone),
    }
    if code:
        told["code"] = code
    return replace(
        question,
        prompt=f"{reason(changes, code)} {told['prompt']}",
        context={**question.context, KEY: told},
    )


def reason(changes: Sequence[FileChange], code: str = "") -> str:
    sentences = [f"{change}." for change in changes]
    if code:
        sentences.append(f"The code changed after it was shown: now {code[:12]}.")
    return " ".join(sentences)


def code_in(context: Mapping[str, object]) -> str:
    """The commit that shows the code as it was when this was asked again; else nothing."""
    return str(_told(context).get("code", ""))


def original_prompt(question: Question) -> str:
    """What was asked at first, however often it was asked again."""
    return str(_told(question.context).get("prompt") or question.prompt)


def gone_before(context: Mapping[str, object]) -> tuple[str, ...]:
    """Files that were not there when this was asked, which whoever answers it is told."""
    gone = _told(context).get("gone")
    return tuple(str(path) for path in gone) if isinstance(gone, list | tuple) else ()


def was_asked_again(context: Mapping[str, object]) -> bool:
    return KEY in context


def changes_in(context: Mapping[str, object]) -> list[FileChange]:
    files = _told(context).get("files")
    return [
        FileChange(
            path=str(file.get("path", "")),
            shown=_number(file.get("shown")),
            now=_number(file.get("now")),
            why=str(file.get("why", "")),
        )
        for file in (files if isinstance(files, list) else ())
        if isinstance(file, Mapping)
    ]


def _told(context: Mapping[str, object]) -> Mapping[str, object]:
    told = context.get(KEY)
    return told if isinstance(told, Mapping) else {}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
