"""Run directories that another FABER works on: shown here, answered here, written back there."""
