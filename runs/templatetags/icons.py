"""Icons of the sprite `static/icons.svg`; they decorate, the words beside them tell."""

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs.domain.values.questions import FeedbackType

register = template.Library()

_ICON = (
    '<svg class="icon" width="16" height="16" aria-hidden="true" focusable="false">'
    '<use href="{}#{}"></use></svg>'
)
_OF_TYPE = {
    FeedbackType.APPROVAL: "stamp",
    FeedbackType.CONFIRMATION: "shield-check",
    FeedbackType.SELECTION: "list-checks",
    FeedbackType.CLARIFICATION: "message-circle-question-mark",
    FeedbackType.REVIEW: "file-search",
    FeedbackType.ERROR_RESOLUTION: "triangle-alert",
}


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html(_ICON, static("icons.svg"), name)


@register.simple_tag
def type_icon(feedback_type: str) -> SafeString:
    """The one of a type of request, wherever requests are shown."""
    return icon(_OF_TYPE[FeedbackType(feedback_type)])
