"""Signing in and out, and the page of somebody's tokens."""
