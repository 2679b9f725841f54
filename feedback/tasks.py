"""What the worker runs for requests and answers."""

from feedback import holding


def take_effect(response_pk: int) -> None:
    """Send a run on when nobody has taken its answer back."""
    holding.take_effect(response_pk)
