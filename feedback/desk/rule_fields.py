"""The fields of a standing rule beside an answer: what it covers, how it begins, when it ends."""

from collections.abc import Mapping

from django import forms

from feedback.models import ToolCall
from feedback.rules.making import ALWAYS_ALLOW
from runs.domain.values.standing.rules import Effect

_MODES = [("on", "Decides from now on"), ("shadow", "Shadow: only notes what it would decide")]
_ENDS = [("", "Never"), ("1d", "In a day"), ("7d", "In a week"), ("30d", "In 30 days")]


def fields_for(call: ToolCall) -> dict[str, forms.Field]:
    box = forms.TextInput({"list": "rule-patterns", "class": "mono", "spellcheck": "false"})
    fields: dict[str, forms.Field] = {
        "rule_pattern": forms.CharField(
            label="Pattern", required=False, initial=call.subject, widget=box
        ),
        "rule_mode": forms.ChoiceField(label="Begins", required=False, choices=_MODES),
        "rule_expires": forms.ChoiceField(label="Expires", required=False, choices=_ENDS),
        "rule_ask": forms.BooleanField(label="Always ask for calls like this", required=False),
    }
    return fields


def rule_in(said: Mapping[str, object], response: str) -> dict[str, object] | None:
    """The rule that goes with the button that was pressed, if one does."""
    wanted = {"pattern": said.get("rule_pattern"), "expires": said.get("rule_expires")}
    if response == ALWAYS_ALLOW:
        return {**wanted, "mode": said.get("rule_mode")}
    return {**wanted, "effect": Effect.ASK.value} if said.get("rule_ask") else None
