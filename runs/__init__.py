"""Runs: workflows, what happens next, who executes it, the record; people are `feedback`'s."""
