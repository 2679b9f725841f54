"""The environment as whoever called FABER had it: Django changes it for this process.

A step works on somebody else's code. A Django project that it tests would be tested with FABER's
settings, and every program would take its times for UTC.
"""

import os

_CHANGED = ("DJANGO_SETTINGS_MODULE", "TZ")
# Where a process and those it starts find what was there before; empty when nothing was.
_BEFORE = "_FABER_BEFORE_"
SETTINGS = "faber_site.settings"


def choose_settings() -> None:
    """Have Django read FABER's settings, whatever project the caller works on."""
    for name in _CHANGED:
        os.environ.setdefault(f"{_BEFORE}{name}", os.environ.get(name, ""))
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS


def environment() -> dict[str, str]:
    """What a program inherits that does the caller's work."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_BEFORE)}
    for name in _CHANGED:
        before = os.environ.get(f"{_BEFORE}{name}")
        if before:
            kept[name] = before
        elif before is not None:
            kept.pop(name, None)
    return kept
