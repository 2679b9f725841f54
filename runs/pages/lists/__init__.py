"""The list of runs: what it is narrowed by, and how it is found."""
