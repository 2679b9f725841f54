"""Requests as comments on issues, and commands that come back; signing in is the site's."""
