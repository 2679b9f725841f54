"""Parts that not every installation has: whoever asks for one is told what to install."""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured


def need(extra: str, module: str, *, because: str) -> None:
    if not _is_there(module):
        raise ImproperlyConfigured(
            f"{because} needs {module}, which is not installed. Install faber-review[{extra}]."
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is the package it would be in
        return False
