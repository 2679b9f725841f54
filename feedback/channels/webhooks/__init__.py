"""Addresses that hear of every request and run they chose; their pages are elsewhere."""
