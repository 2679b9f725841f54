"""The standing rules with how well they agree with people, and what could be one."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Prefetch, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from feedback.models import FeedbackResponse, StandingRule, ToolCall
from runs.accounts.membership import Sight
from runs.domain.values.actors import Source
from runs.domain.values.questions import Action
from runs.domain.values.standing.calls import PLAN, QUESTIONS
from runs.domain.values.standing.rules import AnsweredCall, Effect, Mode, Proposal, proposals

NEWEST = 2000  # calls that a proposal is looked for in
_ALLOWED = Action.CONTINUE.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a rule would have done while it was in shadow, beside what people decided."""

    same: int = 0
    other: int = 0
    open: int = 0

    @property
    def decided(self) -> int:
        return self.same + self.other

    @property
    def percent(self) -> int:
        return round(100 * self.same / self.decided) if self.decided else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRule:
    rule: StandingRule
    agreement: Agreement
    decisions: int  # that it made itself

    @property
    def label(self) -> str:
        return Effect(self.rule.effect).label

    @property
    def state(self) -> str:
        if self.rule.is_expired:
            return "expired"
        return {Mode.ON: "on", Mode.SHADOW: "shadow", Mode.OFF: "off"}[Mode(self.rule.mode)]


def listed(sight: Sight) -> list[ListedRule]:
    """Every rule that was not removed, the newest first."""
    rules = sight.of(StandingRule.objects.filter(removed_at=None)).select_related("project")
    given = Prefetch("trials__call__request__responses", _by_people())
    decisions = _decisions()
    return [
        ListedRule(rule=rule, agreement=_agreement(rule), decisions=decisions.get(rule.name, 0))
        for rule in rules.order_by("-pk").prefetch_related(given)
    ]


def proposed(sight: Sight) -> list[Proposal]:
    """Rules that people could make, because they always decide the same."""
    calls = ToolCall.objects.exclude(tool__in=(PLAN, QUESTIONS))
    calls = sight.of(calls, "request__run__project").select_related("request__run__project")
    newest = calls.order_by("-pk").prefetch_related(Prefetch("request__responses", _by_people()))
    known = sight.of(StandingRule.objects.filter(removed_at=None)).select_related("project")
    return proposals(
        _answered(newest[:NEWEST]), [(rule.project.name, rule.value) for rule in known]
    )


def _decisions() -> dict[str, int]:
    """How many each rule made itself. Only calls have any: other answers are not looked through."""
    named = KeyTextTransform("name", KeyTransform("rule", "request__responses__provided_by"))
    calls = ToolCall.objects.annotate(rule=named).filter(rule__isnull=False).order_by()
    return dict(calls.values_list("rule").annotate(Count("pk")))


def _by_people() -> QuerySet[FeedbackResponse]:
    decided = FeedbackResponse.objects.filter(decides=True).exclude(
        state=FeedbackResponse.State.RETRACTED
    )
    return decided.exclude(provided_by__source=Source.POLICY.value)


def _answered(calls: Iterable[ToolCall]) -> list[AnsweredCall]:
    return [
        AnsweredCall(
            project=call.request.run.project.name,
            tool=call.tool,
            subject=call.about,
            is_allowed=given.action == _ALLOWED,
        )
        for call in calls
        for given in call.request.responses.all()
    ]


def _agreement(rule: StandingRule) -> Agreement:
    """Of its present version: another could have decided otherwise."""
    trials = [trial for trial in rule.trials.all() if trial.version == rule.version]
    given = [list(trial.call.request.responses.all()) for trial in trials]
    said = [answers[0].action == _ALLOWED for answers in given if answers]
    return Agreement(same=sum(said), other=len(said) - sum(said), open=len(given) - len(said))
