"""Asking at a terminal: a request's card, the prompt, staying with a run; no rules of answering."""
