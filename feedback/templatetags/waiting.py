"""How much waits for people, for the bar of every page."""

from django import template
from django.template import Context

from feedback.inbox.open_requests import open_count
from runs.pages.http import sight

register = template.Library()


@register.simple_tag(takes_context=True)
def open_requests(context: Context) -> int:
    return open_count(sight(context["request"]))
