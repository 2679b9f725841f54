"""Notices that tell people of requests and runs: by mail and through chat services; no answers."""
