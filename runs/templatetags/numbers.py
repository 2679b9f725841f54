"""Large numbers as people read them."""

from django import template

register = template.Library()


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"
