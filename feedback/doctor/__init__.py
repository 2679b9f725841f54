"""What is broken, since when, and one safe repair each; the sweep repairs without being asked."""
