"""What a run does next, what it asks, and what its history tells about how it stands."""
