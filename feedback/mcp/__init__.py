"""The calls of the API as tools for agents, always as an agent; no rules of their own."""
