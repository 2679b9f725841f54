"""Runs, their steps and their agents as spans of a trace, told to whoever collects them."""
