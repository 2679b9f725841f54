"""Runs as directories: written, read, and taken in; keeping up with another site is `sync`."""
