"""Writes the demo's specification, with an answer to everything its reviewers asked for."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

# This file is executed by its path, without FABER around it: only the standard library is there.
TEMPLATE = Path(__file__).with_name("spec.md")
SPEC = Path("specs/csv-export.md")
FIRST_ID = 4  # the request itself brings R1 to R3
LONGEST_LINE = 160

# A sentence a line: comments and differences go by lines.
DESIGN = (
    "A function `to_csv` in `invoices.py` returns the export as text.\n"
    "`csv.writer` of the standard library writes the rows."
)
REVISED_DESIGN = (
    "A function `to_csv` in `invoices.py` returns the export as text, so that saving and sending "
    "it stay with the caller.\n"
    "`csv.writer` of the standard library writes and quotes the rows."
)

# What a script can answer by itself: a word that opens a topic, and what the design then says.
TOPICS = {
    r"separat|delimit|semicolon|commas?\b|tabs?\b": (
        'The separator is a parameter: `to_csv(invoices, delimiter=";")` is enough for another one.'
    ),
    r"amount|decimal|cents?\b|round|currenc|money|price": (
        "Amounts stay whole cents until they are written, always with a point and two decimals, "
        "never with a currency sign."
    ),
    r"quot|escap|line break|newline": (
        "A field that holds the separator, a quote or a line break is quoted as RFC 4180 says; "
        "nothing is escaped by hand."
    ),
    r"header|column|heading|field": (
        "The columns are `number,date,customer,amount`, in this order."
    ),
    r"empty|no invoices": (
        "Without invoices the file still has its first row, so that readers find their columns."
    ),
    r"encod|utf|unicode|umlaut|excel": (
        "The function returns text; the caller chooses the encoding, `utf-8-sig` for Excel."
    ),
}
AS_WRITTEN = "it was added to the requirements as written."
CANNOT_ACT = f"The demo can't act on this comment; {AS_WRITTEN}"
CANNOT_ACT_FURTHER = f"The demo can't act on the comment beyond that; {AS_WRITTEN}"

# A comment counts as done only when it asks to be told something, or for another separator, and
# says nothing that the script does not know: "Use the German column names too" is more than that.
ASKS_TO_BE_TOLD = re.compile(
    r"(?:please\s+)?(?:say|state|tell|name|list|describe|document|explain|specify|"
    r"which|what|how|where|is|are|does|do|should|must|will)\b",
    re.IGNORECASE,
)
SEPARATES = re.compile(r"\b(?:semicolon|tab|(?:an)?other separator)", re.IGNORECASE)
COMMON_WORDS = {
    *("a", "an", "the", "this", "that", "these", "it", "its", "i", "we", "please", "and", "or"),
    *("of", "for", "in", "on", "to", "by", "as", "be", "is", "are", "was", "do", "does", "should"),
    *("must", "will", "can", "say", "state", "tell", "name", "names", "list", "describe"),
    *("document", "explain", "specify", "which", "what", "how", "where", "happens", "give"),
    *("gives", "look", "like", "use", "used", "using", "separate", "separated", "written"),
    *("file", "files", "export", "csv", "row", "rows", "first", "invoice", "invoices"),
    *("other", "another"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a reviewer said in one place."""

    words: str
    who: str
    place: str = ""
    item: int | None = None  # among the anchored comments of its review
    review: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A remark as the specification carries it."""

    id: str
    remark: Remark
    answers: tuple[str, ...]

    @property
    def is_met(self) -> bool:
        return bool(self.answers) and is_understood(self.remark.words)

    @property
    def note(self) -> str:
        """What the script did about it, and no more."""
        if not self.answers:
            return CANNOT_ACT
        told = " ".join(self.answers)
        return told if self.is_met else f"Added to the design: {told} {CANNOT_ACT_FURTHER}"


def main() -> None:
    briefing = json.load(sys.stdin)
    reviews = list(reviews_of(briefing))
    revision = len(reviews) + 1
    print(f"Writing revision {revision} of {SPEC}", flush=True)
    points = points_of([remark for review in reviews for remark in review])
    newest = [point for point in points if point.remark.review == len(reviews)]
    for point in newest:
        print(
            f"{point.id} is what {point.remark.who} said: {shortened(point.remark.words)}",
            flush=True,
        )
    text = specification(points, revision=revision, branch=branch_of(briefing))
    SPEC.parent.mkdir(exist_ok=True)
    SPEC.write_text(text, encoding="utf-8")
    print(f"{len(text.splitlines())} lines written", flush=True)
    print(json.dumps(response(text, newest, revision=revision)))


def reviews_of(briefing: Mapping[str, Any]) -> Iterator[list[Remark]]:
    """The remarks of each review that asked for changes, from everything decided so far."""
    asked = [
        decision["response"]
        for decision in briefing["context"]["decisions"]
        if decision["resume_point"]["step"] == briefing["step"]
        and decision["response"]
        and decision["response"]["action"] == "revise"
    ]
    for number, answer in enumerate(asked, start=1):
        yield list(remarks_in(answer, number))


def remarks_in(answer: Mapping[str, Any], review: int) -> Iterator[Remark]:
    who = str(answer["provided_by"].get("user", "somebody"))
    if comment := visible(answer["comment"]):
        yield Remark(words=comment, who=who, review=review)
    for item in answer["items"]:
        place = f"on line {item['line']}" if item.get("line") else ""
        if words := visible(item.get("body", "")):
            yield Remark(words=words, who=who, place=place, item=item["number"], review=review)


def points_of(remarks: Iterable[Remark]) -> list[Point]:
    return [
        Point(id=f"R{number}", remark=remark, answers=tuple(answers_to(remark.words)))
        for number, remark in enumerate(remarks, start=FIRST_ID)
    ]


def answers_to(words: str) -> Iterator[str]:
    for opening, answer in TOPICS.items():
        if re.search(rf"\b(?:{opening})", words, re.IGNORECASE):
            yield answer


def is_understood(words: str) -> bool:
    """Whether the answers are all that somebody can have meant."""
    rest = re.sub("|".join(rf"\b(?:{opening})\w*" for opening in TOPICS), " ", words.casefold())
    unknown = set(re.findall(r"\w+", rest)) - COMMON_WORDS
    return not unknown and bool(ASKS_TO_BE_TOLD.match(words) or SEPARATES.search(words))


def specification(points: Sequence[Point], *, revision: int, branch: str) -> str:
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        revision=revision,
        branch=branch,
        design=design(points),
        requirements="".join(f"\n{row(point)}" for point in points),
        tasks="".join(
            f"\n- [ ] Meet {point.id} of review {point.remark.review}" for point in points
        ),
        changes=changes(points),
    )


def design(points: Sequence[Point]) -> str:
    if not points:
        return DESIGN
    decided = dict.fromkeys(answer for point in points for answer in point.answers)
    open_ids = [point.id for point in points if not point.is_met]
    still = [f"Still to be designed: {', '.join(open_ids)}."] if open_ids else []
    return "\n".join([REVISED_DESIGN, *decided, *still])


def row(point: Point) -> str:
    source = f"{in_a_cell(point.remark.who)}, review {point.remark.review}"
    return f"| {point.id} | {in_a_cell(point.remark.words)} | {source} |"


def changes(points: Sequence[Point]) -> str:
    if not points:
        return ""
    return "\n\n".join(["\n\n## Changes after review", *(change(point) for point in points)])


def change(point: Point) -> str:
    said = point.remark
    heading = " ".join(part for part in (f"{point.id}:", in_a_cell(said.who), said.place) if part)
    quoted = "\n".join(f"> {line}".rstrip() for line in said.words.splitlines())
    return f"### {heading}\n\n{quoted}\n\n**Answer.** {point.note}"


def response(text: str, newest: Sequence[Point], *, revision: int) -> dict[str, object]:
    ids = ", ".join(point.id for point in newest)
    taken_up = f" It adds the review comments as {ids}." if newest else ""
    return {
        "status": "success",
        "message": f"Wrote revision {revision} of the specification.{taken_up}",
        "details": {
            "spec_path": str(SPEC),
            "revision": revision,
            "word_count": len(text.split()),
            "sections": text.count("\n## "),
            "dispositions": [disposition(point) for point in newest],
        },
    }


def disposition(point: Point) -> dict[str, object]:
    return {
        "item": point.remark.item,
        "requirement": point.id,
        "disposition": "done" if point.is_met else "partly",
        "note": point.note,
    }


def branch_of(briefing: Mapping[str, Any]) -> str:
    return str(briefing["context"]["state"]["artifacts"].get("branch_name", "main"))


def visible(words: object) -> str:
    """The words without what a reader would not see."""
    text = re.sub(r"<!--.*?(?:-->|\Z)", "", str(words), flags=re.DOTALL)
    return "".join(char for char in text if char == "\n" or char.isprintable()).strip()


def in_a_cell(words: str) -> str:
    return shortened(words).replace("|", "\\|")


def shortened(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


if __name__ == "__main__":
    main()
