"""The HTTP API for programs: what every part of it shares, and the calls about runs; no rules."""
