"""Changes every text inside plain JSON; when there is nothing to change, one look tells."""

from collections.abc import Callable

Scrub = Callable[[str], str]


def scrubbed(value: object, scrub: Scrub) -> object:
    """The value with `scrub` applied to its texts, each seen behind the name it goes by."""
    # All at once first: most values have nothing to scrub, and a call for each text is slow.
    texts: list[str] = []
    _collect(value, "", texts)
    every = "\n".join(texts)
    return _walk(value, "", scrub) if texts and scrub(every) != every else value


def _collect(value: object, name: str, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(_named(name, value))
    elif isinstance(value, dict):
        for key, inner in value.items():
            _collect(inner, key, texts)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, "", texts)


def _walk(value: object, name: str, scrub: Scrub) -> object:
    if isinstance(value, str):
        return _scrub_named(value, name, scrub)
    if isinstance(value, dict):
        return {key: _walk(inner, key, scrub) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(inner, "", scrub) for inner in value]
    return value


def _scrub_named(text: str, name: str, scrub: Scrub) -> str:
    prefix = _named(name, "")
    seen = scrub(prefix + text)
    return seen.removeprefix(prefix) if seen.startswith(prefix) else scrub(text)


def _named(name: str, text: str) -> str:
    return f"{name}: {text}" if name else text
