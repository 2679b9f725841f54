"""The commands about requests and decisions: each translates words into one call."""
