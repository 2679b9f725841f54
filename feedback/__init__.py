"""Reaching people and taking their answers: requests, channels, pages, the record of decisions."""
