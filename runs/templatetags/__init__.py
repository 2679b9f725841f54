"""What templates of both apps need besides Django's own tags."""
