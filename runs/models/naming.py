"""Choices of a column, from the values of an enumeration."""


def choices(values: object) -> list[tuple[str, str]]:
    return [(str(value), str(value)) for value in values]  # type: ignore[attr-defined]
