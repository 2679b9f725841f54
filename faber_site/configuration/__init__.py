"""What the environment says: typed, checked as a whole, and the data directory it names."""
