"""What a browser is called among people, by what it says of itself."""

import re

UNKNOWN = "Unknown browser"

# The first that is found counts: most of them also claim to be those below.
_BROWSERS = (
    *(("Edg", "Edge"), ("OPR/", "Opera"), ("Vivaldi/", "Vivaldi")),
    *(("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox")),
    *(("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari")),
)
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows")),
    *(("Mac OS X", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)
_PROGRAM = re.compile(r"(?!Mozilla/)([\w.-]{1,30})/")


def spoken(agent: str) -> str:
    """As in `Firefox on Linux`."""
    program = _PROGRAM.match(agent)
    name = _first(_BROWSERS, agent) or (program[1] if program else UNKNOWN)
    system = _first(_SYSTEMS, agent)
    return f"{name} on {system}" if system else name


def _first(known: tuple[tuple[str, str], ...], agent: str) -> str:
    return next((name for mark, name in known if mark in agent), "")
