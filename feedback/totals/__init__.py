"""Sums over tables that only grow, kept so that nobody reads all of them to count."""
