"""What the templates of requests need; what both apps need is in `runs.templatetags`."""
