"""The page of one request: what is decided, the files, the rounds, the comments, the answer."""
