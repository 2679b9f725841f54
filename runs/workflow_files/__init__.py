"""Workflow files on disk: found, read within bounds, and the bundled ones."""
