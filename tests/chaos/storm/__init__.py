"""A site under load while everything around it fails, and a judge of what was seen."""
