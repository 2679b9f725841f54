"""What a specification says about itself: its front matter, headings and acceptance criteria."""

import re

from runs.domain.values import front_matter

MOST = 500  # headings, or criteria: beyond, the text itself is the better list
_LOOKED_AT = 100_000  # characters, for the front matter's end

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_CODE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*?)[ \t]*")
_LABEL = re.compile(r" {0,3}(\*\*|__)(.+?)\1[ \t]*:?[ \t]*")
_CRITERIA = re.compile(r"acceptance[ \t_-]+criteri(?:on|a)\b", re.IGNORECASE)
_BOLD = 7  # a label in bold stands below every heading

Json = dict[str, object]


def outline(text: str) -> Json:
    """The parts of a specification that a reader looks for first."""
    _, rows = front_matter.find(text[:_LOOKED_AT])
    headings, criteria = _read(text.split("\n"))
    return {
        "front_matter": {key: "\n".join(value).strip() for _, key, value in rows},
        "headings": headings,
        "acceptance_criteria": criteria,
    }


def _read(lines: list[str]) -> tuple[list[Json], list[str]]:
    headings: list[Json] = []
    criteria: list[str] = []
    inside, code = 0, ""  # below which level of heading the criteria stand; the open code block
    for number, line in enumerate(lines, start=1):
        if len(headings) == MOST and len(criteria) == MOST:
            break
        first = line.lstrip()[:1]
        if first in "`~" and first and (mark := _CODE.match(line)):
            code = _after_mark(code, mark[1], line)
        elif code or not first:
            continue
        elif first == "#" and (heading := _HEADING.fullmatch(line)):
            level = len(heading[1])
            if len(headings) < MOST:
                headings.append({"level": level, "title": heading[2], "line": number})
            inside = _now_inside(inside, level, heading[2])
        elif first in "*_" and (label := _LABEL.fullmatch(line)) and inside in (0, _BOLD):
            inside = _now_inside(inside, _BOLD, label[2])
        elif inside and len(criteria) < MOST and (item := _ITEM.fullmatch(line)):
            criteria.append(item[1])
    return headings, criteria


def _now_inside(inside: int, level: int, title: str) -> int:
    if _CRITERIA.search(title):
        return level
    return inside if inside and level > inside else 0


def _after_mark(code: str, mark: str, line: str) -> str:
    if not code:
        return mark
    closes = mark.startswith(code) and line.strip() == mark
    return "" if closes else code
