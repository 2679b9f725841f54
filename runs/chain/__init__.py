"""The record nobody can rewrite: what was decided, asked, refused, keyed and linked site-wide."""
