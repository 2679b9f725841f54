"""Keeps the site's data and other processes out of a step's sight; no Django."""
