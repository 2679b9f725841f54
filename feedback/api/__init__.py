"""The HTTP API for programs: the calls about requests."""
