"""What a step must know, gathered from stored facts and cut to its budget before it is executed."""

from runs.context.reconstitution import Memory, Trouble, new_mark, reconstitute, trouble_in

__all__ = ["Memory", "Trouble", "new_mark", "reconstitute", "trouble_in"]
