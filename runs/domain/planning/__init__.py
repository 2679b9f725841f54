"""What a run does next, what it asks, how it stands; decided here, done by `engine`."""
