"""The commands about runs, accounts and projects: each translates words into one call, no rules."""
