"""Parts that not every installation has: whoever asks for one is told what to install."""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured


def need(extra: str, module: str, *, because: str) -> None:
    if find_spec(module) is None:
        raise ImproperlyConfigured(
            f"{because} needs {module}, which is not installed. Install faber-review[{extra}]."
        )
