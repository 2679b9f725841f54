"""The pages of projects and what is set for them."""
