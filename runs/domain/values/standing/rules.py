"""Which of the standing rules decides about a call, and which are worth proposing."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from runs.domain.values.standing.calls import Subject
from runs.domain.values.standing.patterns import covers, suggestions

_Pattern = tuple[str, str, str]  # project, tool, pattern

ENOUGH = 5  # same answers of people, until a rule is proposed


class Effect(StrEnum):
    ALLOW = "allow"
    ASK = "ask"  # always a person, whatever else would allow it

    @property
    def label(self) -> str:
        return f"Always {self.value}"


class Mode(StrEnum):
    SHADOW = "shadow"  # only notes what it would have done
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    name: str
    version: int
    effect: Effect
    mode: Mode
    tool: str
    pattern: str

    def is_about(self, tool: str, subject: Subject) -> bool:
        return self.mode is not Mode.OFF and self.tool == tool and covers(self.pattern, subject)

    def names(self, answer: "AnsweredCall") -> bool:
        """Whether somebody has thought of such a call, and be it to stop the rule."""
        return self.tool == answer.tool and covers(self.pattern, answer.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the rules say about one call."""

    allowed_by: Rule | None = None  # None: a person decides
    in_shadow: tuple[Rule, ...] = ()


def rule_on(rules: Iterable[Rule], tool: str, subject: Subject) -> Judgement:
    """An `ask` goes before every `allow`; between equals the oldest decides."""
    about = [rule for rule in rules if rule.is_about(tool, subject)]
    on = [rule for rule in about if rule.mode is Mode.ON]
    allowing = [rule for rule in on if rule.effect is Effect.ALLOW]
    asks = len(allowing) < len(on)
    return Judgement(
        allowed_by=allowing[0] if allowing and not asks else None,
        in_shadow=tuple(rule for rule in about if rule.mode is Mode.SHADOW),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredCall:
    """A call that a person allowed or denied."""

    project: str
    tool: str
    subject: Subject
    is_allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    project: str
    tool: str
    pattern: str
    times: int = field(compare=False)


def proposals(answers: Iterable[AnsweredCall], rules: Iterable[tuple[str, Rule]]) -> list[Proposal]:
    """Patterns that people always allowed, at least five times, where no rule speaks yet.

    A wider pattern is proposed only where a narrower one does not say the same.
    """
    standing = list(rules)
    allowed: dict[_Pattern, list[str]] = defaultdict(list)
    denied: set[_Pattern] = set()
    for answer in answers:
        if any(project == answer.project and rule.names(answer) for project, rule in standing):
            continue
        for pattern in suggestions(answer.subject):
            key = (answer.project, answer.tool, pattern)
            if answer.is_allowed:
                allowed[key].append(answer.subject.text)
            else:
                denied.add(key)
    often = {
        (key[0], key[1], *sorted({*texts})): (key, len(texts))
        for key, texts in reversed(allowed.items())
        if len(texts) >= ENOUGH and key not in denied
    }
    return [
        Proposal(project=project, tool=tool, pattern=pattern, times=times)
        for (project, tool, pattern), times in reversed(often.values())
    ]
