"""The commands that start the site; every other command belongs to an app."""
