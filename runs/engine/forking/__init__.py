"""A run that begins where another one stood: what is taken over from it, and how."""
