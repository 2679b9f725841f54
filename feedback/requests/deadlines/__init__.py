"""Time as policy: when a request is due, whom time reminds and asks too, what silence decides."""
