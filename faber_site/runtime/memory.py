"""What the garbage collector need not look at."""

import gc

# Objects made since the last look. Python's own 700 come together several times in one answer,
# and what they leave behind is nearly always gone without a collector.
_PATIENCE = 50_000


def look_at_nothing() -> None:
    """Called before anything is loaded: nearly all of that stays."""
    gc.disable()


def look_rarely() -> None:
    """Called once most is loaded: it is never looked through again, what comes later seldom."""
    gc.freeze()
    gc.set_threshold(_PATIENCE, 20, 20)
    gc.enable()


def keep_what_is_loaded() -> None:
    """Called once everything is loaded, where it stays for long."""
    gc.collect()
    look_rarely()


def leave_as_it_is() -> None:
    """Called at a command's end: Python would look through everything once more."""
    gc.freeze()
