"""The lines of a file as a list: thousands of them, so that no template is rendered for each."""

from typing import Any

from django import template
from django.template.context import RequestContext
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from feedback.desk.code.lines import note
from feedback.desk.files import Exhibit, SourceLine

register = template.Library()


@register.simple_tag(takes_context=True)
def source_lines(context: RequestContext, shown: Exhibit, desk: Any) -> SafeString:
    """Each line with its number, its control, its remarks, and the field where one is written."""
    query = escape(shown.line_query) if desk.is_open else ""
    asked_for = shown.new_remark.initial["line"] if shown.new_remark and desk.is_open else 0
    items = []
    for line in shown.lines:
        field = _field(context, shown, desk) if line.number == asked_for else ""
        items.append(_item(line, query, field))
    # Safe: numbers are ours, and every word of the file and of people is escaped.
    return mark_safe("".join(items))  # noqa: S308


def _item(line: SourceLine, query: str, field: str) -> str:
    number = line.number
    control = (
        f'<a class="add" href="{query}{number}#L{number}" '
        f'aria-label="Comment on line {number}">+</a>'
        if query
        else ""
    )
    remarks = "".join(map(note, line.remarks))
    return (
        f'<li id="L{number}" data-line="{number}" data-end="{number}">{control}'
        f"<code>{escape(line.text)}</code>{remarks}{field}</li>"
    )


def _field(context: RequestContext, shown: Exhibit, desk: Any) -> str:
    values = {"asked": desk.asked, "form": shown.new_remark}
    return render_to_string("feedback/_remark_form.html", values, request=context.request)
