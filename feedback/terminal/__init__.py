"""Asking and answering at a terminal: the card of a request, the prompt, staying with a run."""
