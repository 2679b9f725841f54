"""Directories that another FABER works on: shown and answered here, executed there."""
