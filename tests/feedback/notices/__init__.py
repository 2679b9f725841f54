"""Tests of one's own notices."""
