"""The pages of projects and what is set for them; the command line uses the same form."""
