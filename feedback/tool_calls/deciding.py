"""Lets standing rules decide about a call, or note what they would have done."""

from django.db.models import Q
from django.utils import timezone

from feedback.models import RuleTrial, StandingRule, ToolCall
from feedback.requests import answers
from feedback.rules import making
from feedback.tool_calls.wording import ALLOW
from runs.domain.values.actors import Actor, Source
from runs.domain.values.standing.calls import PLAN, QUESTIONS
from runs.domain.values.standing.rules import Mode, Rule, rule_on


def decide(call: ToolCall) -> None:
    """In the transaction that asks, so that nobody is disturbed for what a rule allows."""
    if call.tool in (PLAN, QUESTIONS) or not making.are_on():
        return
    rows = {row.name: row for row in _in_force(call)}
    ruling = rule_on([row.value for row in rows.values()], call.tool, call.about)
    RuleTrial.objects.bulk_create(
        RuleTrial(rule=rows[rule.name], version=rule.version, call=call)
        for rule in ruling.in_shadow
    )
    if ruling.allowed_by:
        answers.respond(call.request.request_id, ALLOW, actor=_policy(ruling.allowed_by))


def _in_force(call: ToolCall) -> list[StandingRule]:
    lasting = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    rules = StandingRule.objects.filter(lasting, removed_at=None, tool=call.tool)
    return list(rules.filter(project=call.request.run.project_id).exclude(mode=Mode.OFF.value))


def _policy(rule: Rule) -> Actor:
    return Actor(name="policy", source=Source.POLICY, method="rule", rule=(rule.name, rule.version))
