"""Numbers in sentences."""


def number_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def seconds_of(amount: float) -> str:
    return f"{amount:.10g} second{'' if amount == 1 else 's'}"
