"""Standing rules: which calls of an agent's tools a pattern covers, and which rule decides."""
