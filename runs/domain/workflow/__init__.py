"""Workflow files as values, up to a run's frozen plan; finding and reading files is elsewhere."""
