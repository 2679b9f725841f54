"""What is broken, since when, and one safe repair for each."""
