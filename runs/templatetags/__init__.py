"""What templates of both apps need besides Django's own tags; what only requests need is there."""
