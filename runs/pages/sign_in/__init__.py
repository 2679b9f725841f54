"""Signing in and out, and the page of somebody's tokens; who may do what is `accounts`'."""
