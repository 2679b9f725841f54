"""Finding requests and decisions by a text, and sorting them, among many at the cost of few."""
