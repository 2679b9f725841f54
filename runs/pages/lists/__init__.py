"""The list of runs: what narrows it and how it is found; the API lists the same way."""
