"""The page of one request: files, rounds, comments, the answer; recording it is `requests`'."""
