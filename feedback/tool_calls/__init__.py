"""Calls of an agent's own tools that people decide: permissions, plans, questions."""
