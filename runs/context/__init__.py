"""What a step must know, gathered from stored facts, cut to a budget; executing is `worker`'s."""

from runs.context.reconstitution import (
    Memory,
    Trouble,
    needs_no_look,
    new_mark,
    reconstitute,
    trouble_in,
)

__all__ = ["Memory", "Trouble", "needs_no_look", "new_mark", "reconstitute", "trouble_in"]
