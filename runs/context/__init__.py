"""Gathers everything a step must know from stored facts, before it is executed."""

from runs.context.reconstitution import Memory, Trouble, new_mark, reconstitute, trouble_in

__all__ = ["Memory", "Trouble", "new_mark", "reconstitute", "trouble_in"]
