"""How much waits for people, for the bar of every page."""

from django import template

from feedback.inbox import waiting

register = template.Library()


@register.simple_tag
def open_requests() -> int:
    return waiting.open_count()
