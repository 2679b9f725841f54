"""Whether a run has used up what it may, and how far its budget is raised then."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from runs.domain.responses import usage
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.numbers import number_of
from runs.domain.workflow.definition import Budget
from runs.domain.workflow.problems import problems_of

WHOLE_RUN = "run"
_UNREADABLE = "{text!r} is not a budget; write dollars such as 5, or tokens such as 500000tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    usd: float = 0.0
    tokens: int = 0

    def reaches(self, budget: Budget) -> bool:
        return any(amount >= limit for amount, limit in _compared(self, budget))

    def shape(self) -> dict[str, object]:
        return {"usd": round(self.usd, 6), "tokens": self.tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overspent:
    """A budget that is used up: of the whole run, or of one of its steps by its key."""

    scope: str
    budget: Budget  # as it stands now
    unit: Budget  # as the workflow gives it: by so much it is raised
    spent: Spent

    @property
    def raised(self) -> Budget:
        """By as much again as the workflow gives, and at least beyond what is spent."""
        return Budget(
            usd=_raised(self.budget.usd, self.unit.usd, self.spent.usd),
            tokens=_whole(_raised(self.budget.tokens, self.unit.tokens, self.spent.tokens)),
        )

    def shape(self) -> dict[str, object]:
        return {
            "scope": self.scope,
            "budget": self.budget.model_dump(exclude_none=True),
            "spent": self.spent.shape(),
            "raised": self.raised.model_dump(exclude_none=True),
        }


def overspent(
    scope: str, given: Budget | None, raised: Mapping[str, Mapping[str, object]], spent: Spent
) -> Overspent | None:
    """Whether a budget of this scope is used up, raised or not."""
    if given is None:
        return None
    budget = Budget.model_validate(raised[scope]) if scope in raised else given
    if not spent.reaches(budget):
        return None
    return Overspent(scope=scope, budget=budget, unit=given, spent=spent)


def read_budget(text: str) -> Budget:
    """A budget as people write it: `5`, `$5`, `2000000tokens`, or both with a comma between."""
    given: dict[str, float] = {}
    for part in text.replace(" ", "").split(","):
        number, is_tokens = part.removesuffix("tokens"), part.endswith("tokens")
        try:
            given["tokens" if is_tokens else "usd"] = (
                int(number) if is_tokens else float(number.removeprefix("$").removesuffix("usd"))
            )
        except ValueError:
            raise Invalid([Problem("budget", _UNREADABLE.format(text=text))]) from None
    try:
        return Budget.model_validate(given)
    except ValidationError as error:
        raise Invalid([Problem("budget", str(problems_of(error)[0].message))]) from None


def spoken(budget: Budget) -> str:
    return " or ".join(
        text
        for amount, text in (
            (budget.usd, usage.dollars(budget.usd or 0)),
            (budget.tokens, number_of(budget.tokens or 0, "token")),
        )
        if amount is not None
    )


def used(over: Overspent) -> str:
    """What was used of the amounts that the budget speaks of."""
    amounts = Budget.model_construct(
        usd=over.spent.usd if over.budget.usd is not None else None,
        tokens=over.spent.tokens if over.budget.tokens is not None else None,
    )
    return spoken(amounts).replace(" or ", " and ")


def is_above(chosen: Budget | None, whole: Budget | None) -> bool:
    """Whether a start allows itself more than its workflow does."""
    if whole is None:
        return False
    given = chosen or Budget()
    return any(
        limit is not None and (wished is None or wished > limit)
        for wished, limit in ((given.usd, whole.usd), (given.tokens, whole.tokens))
    )


def _compared(spent: Spent, budget: Budget) -> Iterator[tuple[float, float]]:
    if budget.usd is not None:
        yield spent.usd, budget.usd
    if budget.tokens is not None:
        yield spent.tokens, budget.tokens


def _raised(limit: float | None, unit: float | None, spent: float) -> float | None:
    if limit is None or unit is None:
        return limit
    if spent < limit:
        return limit
    # Rounded before it is cut off: three times ten cents are a little less than thirty.
    return round(unit * (math.floor(round(spent / unit, 9)) + 1), 6)


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)
