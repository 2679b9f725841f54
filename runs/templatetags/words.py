"""Words for people: moments, durations, names of channels."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import reduce
from operator import add
from typing import Any

from django import template
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs.domain.values.actors import Source
from runs.domain.values.questions import FeedbackType, ItemKind, spoken
from runs.domain.values.text import quoted_line

register = template.Library()

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MOMENT = '<time datetime="{}" title="{}" data-exact>{}</time>'
_AGE = '<time datetime="{}" title="{}" data-ago>{}</time>'

# How an answer is told once it was given: before the title of its request.
_DONE = {
    "approve": "Approved",
    "confirm": "Confirmed",
    "request_changes": "Requested changes to",
    "retry": "Retried",
    "skip": "Skipped",
    "reject": "Rejected",
    "cancel": "Cancelled",
    "abort": "Aborted",
}


@register.simple_tag
def ago(moment: datetime | str | None) -> SafeString | str:
    """How long ago or until then, kept up to date by app.js, with the exact time behind it."""
    when = _read(moment)
    return (
        format_html(_AGE, _machine(when), _exact(when), age(when, timezone.now())) if when else ""
    )


@register.simple_tag
def at(moment: datetime | str | None) -> SafeString | str:
    """When exactly; app.js shows it in the reader's zone, with UTC behind it."""
    when = _read(moment)
    return format_html(_MOMENT, _machine(when), _exact(when), _exact(when)) if when else ""


@register.filter
def item_kind(name: str) -> str:
    """What a kind of line comment is called; a name that is none of ours stays."""
    known = {kind.value: kind.label for kind in ItemKind}
    return known.get(name, name)


@register.filter
def item_lines(item: Mapping[str, Any]) -> str:
    """`:3` or `:3–5` behind the path of a line comment; lines before the change say so."""
    first, last = item.get("line"), item.get("end_line")
    if not first:
        return ""
    lines = f":{first}" if last in (None, first) else f":{first}–{last}"
    return f"{lines} (old)" if item.get("side") == "old" else lines


@register.filter
def duration(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def channel(source: str) -> str:
    """Where an answer was given; a run made elsewhere may name a channel nobody knows here."""
    try:
        return Source(source).where
    except ValueError:
        return source


@register.filter
def in_own_words(decision: Mapping[str, Any]) -> bool:
    """Whether a decision's answer is a text of its author, and not one of the options."""
    answer = decision["response"]["response"]
    return FeedbackType(decision["type"]).takes_text and answer not in decision["options"]


@register.filter
def did(answer: Any) -> str:
    """What an answer did to the request whose title follows; an option of an author has no verb."""
    if answer.is_text:
        return "Answered"
    return _DONE.get(answer.response) or f"Chose {plain(answer.response)[:60]} for"


@register.filter
def quoted(text: str, most: int) -> str:
    return quoted_line(text, most)


@register.filter
def coded(text: str) -> SafeString:
    """What stands between two backticks of a line as code."""
    parts = (
        format_html("<code>{}</code>" if number % 2 else "{}", part)
        for number, part in enumerate(_CODE.split(str(text)))
    )
    return reduce(add, parts)


@register.filter
def choice(response: str) -> str:
    """An option that somebody chose, as its button says it."""
    return spoken(str(response))


@register.filter
def plain(name: str) -> str:
    """`awaiting_feedback` as it is spoken."""
    return str(name).replace("_", " ")


# up to how many seconds, the unit and its name, the unit of what is left over
_UNITS = (
    (3600, 60, "min", 60, ""),
    (86400, 3600, "h", 60, "min"),
    (14 * 86400, 86400, "d", 3600, "h"),
)


def age(then: datetime, now: datetime) -> str:
    """The same words as `age` in app.js."""
    seconds = abs(int((now - then).total_seconds()))
    if seconds < 45:
        return "just now"
    for most, unit, name, part, part_name in _UNITS:
        if seconds < most:
            measure = f"{max(1, seconds // unit)} {name}"
            if then <= now:
                return f"{measure} ago"
            # A deadline is told closer: `in 1 d` would hide nearly a day.
            rest = seconds % unit // part
            return f"in {measure} {rest} {part_name}" if rest and unit > part else f"in {measure}"
    return f"{then.astimezone(UTC):%-d %b %Y}"


def _exact(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%-d %b %Y, %H:%M:%S} UTC"


def _machine(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _read(moment: datetime | str | None) -> datetime | None:
    return parse_datetime(moment) if isinstance(moment, str) else moment
