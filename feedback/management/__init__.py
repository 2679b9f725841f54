"""The commands that ask, answer or look back: each translates words into one call, no rules."""
