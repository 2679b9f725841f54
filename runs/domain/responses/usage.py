"""What an agent says its work cost, in one spelling for all agents."""

from collections import Counter
from collections.abc import Iterable, Mapping

from runs.domain.values.numbers import number_of

COST, TURNS = "cost_usd", "turns"
TOKENS_IN, TOKENS_OUT = "input_tokens", "output_tokens"

_BEYOND_REASON = 10**15


def counted(**said: object) -> dict[str, float]:
    """What is a number among the things an agent said of itself."""
    return {
        name: value
        for name, value in said.items()
        if isinstance(value, int | float) and value is not True and 0 <= value < _BEYOND_REASON
    }


def spoken(usage: Mapping[str, object] | None) -> str:
    """Cost, turns and tokens in a few words; empty when nothing is known."""
    known = counted(**(usage or {}))
    tokens = [known[name] for name in (TOKENS_IN, TOKENS_OUT) if name in known]
    parts = (
        dollars(known[COST]) if COST in known else "",
        number_of(round(known[TURNS]), "turn") if TURNS in known else "",
        number_of(round(sum(tokens)), "token") if tokens else "",
    )
    return ", ".join(part for part in parts if part)


def total(usages: Iterable[Mapping[str, object] | None]) -> dict[str, float]:
    """What several attempts cost together."""
    together: Counter[str] = Counter()
    for usage in usages:
        together.update(counted(**(usage or {})))
    return dict(together)


def since(total: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """What is new in the total of a whole session, of which `before` was counted already."""
    return {name: max(0, round(total[name] - before.get(name, 0), 9)) for name in total}


def dollars(amount: float) -> str:
    return "under $0.01" if 0 < amount < 0.01 else f"${amount:,.2f}"
