"""What a run waits for, and how it ended, in a few words."""

from collections.abc import Mapping, Sequence

from django import template

from runs.models import Run
from runs.record.endings import Ending

register = template.Library()


@register.simple_tag
def waits_for(run: Run, holders: Mapping[int, Sequence[Run]]) -> str:
    held_by = holders.get(run.project_id, ())
    names = ", ".join(holder.short_id for holder in held_by)
    return f"waiting for {names}" if names else "queued"


@register.simple_tag
def ended(run: Run, endings: Mapping[int, Ending]) -> str:
    return str(endings.get(run.pk, ""))
