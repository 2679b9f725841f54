"""What may not be kept nor leave: known by its form, and taken out of text."""
