"""What each answer to a request would cause, before anybody gives it."""
