"""The code changes on the request page: files, lines, what was viewed."""
