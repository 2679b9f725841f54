"""Where the data directory is; known without Django, for what has to start at once."""

import os
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]


def place() -> Path:
    """From a checkout the data stays with it, so that `faber` sees it anywhere."""
    if (_CHECKOUT / "manage.py").exists():
        usual = _CHECKOUT / "var"
    else:
        usual = Path(_text("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "faber"
    return Path(_text("FABER_DATA_DIR") or usual).resolve()


def _text(name: str) -> str:
    return os.environ.get(name, "").strip()
