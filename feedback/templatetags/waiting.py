"""How much waits for people, for the bar of every page."""

from django import template

from feedback.inbox.open_requests import open_count

register = template.Library()


@register.simple_tag
def open_requests() -> int:
    return open_count()
