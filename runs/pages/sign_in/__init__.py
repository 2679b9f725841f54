"""Signing in and out, and somebody's own tokens and sessions; who may do what is `accounts`'."""
