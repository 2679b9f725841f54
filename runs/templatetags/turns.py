"""Whom a waiting run waits for, in a few words."""

from collections.abc import Mapping, Sequence

from django import template

from runs.models import Run

register = template.Library()


@register.simple_tag
def waits_for(run: Run, holders: Mapping[int, Sequence[Run]]) -> str:
    held_by = holders.get(run.project_id, ())
    names = ", ".join(holder.short_id for holder in held_by)
    return f"waits for {names}" if names else "waits for its turn"
