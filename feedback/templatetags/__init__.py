"""What the templates of requests need besides Django's own tags."""
