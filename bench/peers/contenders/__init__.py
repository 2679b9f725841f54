"""One module for each contender; all but ours run in an environment of their own."""
