"""Signing in with GitHub and linking accounts; comments on issues are a channel of `feedback`."""
