"""Requests as comments on GitHub issues, and commands that come back the same way."""
