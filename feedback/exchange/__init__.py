"""Runs as directories, written and taken in; keeping up with another site is `sync`."""
