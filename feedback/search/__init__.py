"""Finding requests and decisions among many by a text, at the cost of few."""
