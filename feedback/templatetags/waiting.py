"""How much waits for people, for the bar of every page."""

from django import template
from django.template import Context

from feedback.inbox import open_requests as inbox
from feedback.inbox.open_requests import Inbox, Waiting
from runs.pages.http import sight

register = template.Library()


@register.simple_tag(takes_context=True)
def open_requests(context: Context) -> Waiting:
    shown = context.get("inbox")
    if isinstance(shown, Inbox):  # it has counted them already
        return shown.waiting
    return inbox.waiting(sight(context["request"]))
