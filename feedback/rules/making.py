"""Makes standing rules, changes and removes them; each change is on record."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from feedback.models import FeedbackRequest, FeedbackResponse, RuleSwitch, StandingRule, ToolCall
from runs.accounts import membership, permissions
from runs.chain import entries
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, InvalidAnswer, NotFound, Problem
from runs.domain.values.standing.calls import PLAN, QUESTIONS
from runs.domain.values.standing.patterns import covers, problem_with
from runs.domain.values.standing.rules import Effect, Mode
from runs.models import Project

ALWAYS_ALLOW = "always_allow"
KEYS = ("pattern", "mode", "expires", "effect")
_DURATION = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MODES = (Mode.SHADOW.value, Mode.ON.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule as somebody wants it."""

    project: Project
    tool: str
    pattern: str
    effect: Effect = Effect.ALLOW
    mode: Mode = Mode.ON
    expires_at: datetime | None = None


def wished(
    request: FeedbackRequest, response: str, given: Mapping[str, object] | None
) -> dict[str, str]:
    """The rule that an answer brings with it, as it is kept; empty when it brings none."""
    always = response == ALWAYS_ALLOW
    if given is None and not always:
        return {}
    call = call_of(request)
    wish = {key: str(value) for key, value in (given or {}).items() if value not in (None, "")}
    wish = {"effect": Effect.ALLOW.value if always else Effect.ASK.value, **wish}
    problems = list(_problems(wish, call, always=always))
    if problems or call is None:
        raise InvalidAnswer(
            "\n".join(map(str, problems)),
            problems=[{"place": each.place, "message": each.message} for each in problems],
        )
    return {"pattern": call.subject, "mode": Mode.ON.value, **wish}


def make_wished(response: FeedbackResponse, actor: Actor) -> StandingRule | None:
    """Make the rule of an answer that takes effect."""
    call = call_of(response.request) if response.rule else None
    if call is None:
        return None
    wish = response.rule
    return make(
        NewRule(
            project=response.request.run.project,
            tool=call.tool,
            pattern=wish["pattern"],
            effect=Effect(wish["effect"]),
            mode=Mode(wish["mode"]),
            expires_at=expiry(wish.get("expires", ""), response.received_at),
        ),
        actor,
        told=f"with the answer to {response.request.request_id}",
    )


def make(new: NewRule, actor: Actor, *, told: str = "") -> StandingRule:
    """The caller has made sure that the actor may."""
    if problem := problem_with(new.pattern):
        raise Invalid([Problem("rule.pattern", problem)])
    with transaction.atomic():
        rule = StandingRule.objects.create(
            project=new.project,
            tool=new.tool,
            pattern=new.pattern,
            effect=new.effect.value,
            mode=new.mode.value,
            expires_at=new.expires_at,
            made_by=actor.name[:200],
        )
        _tell(rule, actor, " ".join(filter(None, ("made", described(rule), told))))
    return rule


def set_mode(rule: StandingRule, mode: Mode, actor: Actor) -> StandingRule:
    permissions.check_may_rule(actor, rule.project)
    if rule.mode == mode:
        return rule
    with transaction.atomic():
        StandingRule.objects.filter(pk=rule.pk).update(mode=mode.value, version=F("version") + 1)
        rule.refresh_from_db()
        _tell(rule, actor, f"set {rule.name}@{rule.version} to {mode.value}")
    return rule


def remove(rule: StandingRule, actor: Actor) -> None:
    permissions.check_may_rule(actor, rule.project)
    with transaction.atomic():
        StandingRule.objects.filter(pk=rule.pk).update(
            mode=Mode.OFF.value, removed_at=timezone.now()
        )
        _tell(rule, actor, f"removed {described(rule)}")


def switch(actor: Actor, *, is_on: bool) -> None:
    """Stop every rule at once, or let them decide again."""
    permissions.check_may_operate(actor)
    with transaction.atomic():
        now = {"is_on": is_on, "changed_by": actor.name[:200], "changed_at": timezone.now()}
        RuleSwitch.objects.update_or_create(pk=1, defaults=now)
        entries.rule(actor, f"switched all standing rules {'on' if is_on else 'off'}")


def are_on() -> bool:
    return not RuleSwitch.objects.filter(is_on=False).exists()


def find(name: str, *, seen_by: Actor) -> StandingRule:
    """A rule by its name or number, unless it was removed."""
    number = name.removeprefix("rule-")
    is_number = number.isascii() and number.isdecimal() and len(number) < 12
    rules = StandingRule.objects.select_related("project").filter(removed_at=None)
    rule = rules.filter(pk=int(number)).first() if is_number else None
    if rule is None or not membership.sees(seen_by, rule.project):
        raise NotFound(f"There is no rule {name!r}.")
    return rule


def call_of(request: FeedbackRequest) -> ToolCall | None:
    """The call that a rule can be made from: neither a plan nor questions."""
    if all(option.value != ALWAYS_ALLOW for option in request.choices):
        return None
    calls = ToolCall.objects.exclude(tool__in=(PLAN, QUESTIONS))
    return calls.filter(request=request).first()


def described(rule: StandingRule) -> str:
    ends = f" until {rule.expires_at:%Y-%m-%d %H:%M} UTC" if rule.expires_at else ""
    shadow = " in shadow" if rule.mode == Mode.SHADOW else ""
    label = Effect(rule.effect).label.lower()
    return f"{rule.name}@{rule.version}: {label} {rule.tool} `{rule.pattern}`{shadow}{ends}"


def expiry(text: str, now: datetime) -> datetime | None:
    """When `7d`, `12h`, a date or a time ends; a date at its end. Raises ValueError."""
    if not text:
        return None
    if found := _DURATION.fullmatch(text):
        return now + int(found[1]) * _UNITS[found[2]]
    moment = datetime.fromisoformat(text)
    if len(text) == len("2026-11-16"):
        moment = datetime.combine(moment.date(), time.max)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment <= now:
        raise ValueError("is in the past")
    return moment


def _problems(wish: Mapping[str, str], call: ToolCall | None, *, always: bool) -> list[Problem]:
    if call is None:
        return [Problem("rule", "belongs to a request for a permission")]
    found = [
        Problem(f"rule.{key}", f"is unknown; a rule has {', '.join(KEYS)}")
        for key in wish
        if key not in KEYS
    ]
    if wish["effect"] != (Effect.ALLOW if always else Effect.ASK):
        told = "goes with always_allow" if wish["effect"] == Effect.ALLOW else "is allow or ask"
        found.append(Problem("rule.effect", told))
    if wish.get("mode", "on") not in _MODES:
        found.append(Problem("rule.mode", "is shadow or on"))
    pattern = wish.get("pattern", call.subject)
    if problem := problem_with(pattern):
        found.append(Problem("rule.pattern", problem))
    elif not covers(pattern, call.about):
        found.append(Problem("rule.pattern", "does not cover this call"))
    try:
        expiry(wish.get("expires", ""), timezone.now())
    except (ValueError, OverflowError):
        told = "is a date or time to come such as 2030-12-31, or a duration such as 7d"
        found.append(Problem("rule.expires", told))
    return found


def _tell(rule: StandingRule, actor: Actor, what: str) -> None:
    entries.rule(actor, what, project=rule.project.name)
