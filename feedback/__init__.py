"""Reaching people and taking their answers; what an answer means for a run is `runs`'."""
