"""What the garbage collector need not look at."""

import gc

# Objects made since the last look. Python's own 700 come together several times in one answer,
# and what they leave behind is nearly always gone without a collector.
_PATIENCE = 50_000


def look_rarely() -> None:
    """Called before anything is loaded: nearly all of that stays."""
    gc.set_threshold(_PATIENCE, 20, 20)


def keep_what_is_loaded() -> None:
    """Called once everything is loaded: it stays, so it is never looked through again."""
    gc.collect()
    gc.freeze()
    look_rarely()
