"""Workflow files on disk: found, read within bounds, bundled; what they mean is `domain`'s."""
