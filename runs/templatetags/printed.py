"""What programs printed, for pages: in its colours, or without them."""

from django import template
from django.utils.safestring import SafeString

from runs.domain.values.printed.terminal_codes import bare
from runs.rendering import terminal_colours

register = template.Library()


@register.filter
def coloured(text: str) -> SafeString:
    return terminal_colours.coloured(str(text))


@register.filter
def uncoloured(text: str) -> str:
    """Where a sentence is expected, a terminal's commands would only be in the way."""
    return bare(str(text))
