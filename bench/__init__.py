"""How fast a run stops and goes on, measured on both databases in one go."""
