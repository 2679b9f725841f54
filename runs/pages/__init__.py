"""What a browser sees of runs: a room for each kind of page, and what they all share."""
