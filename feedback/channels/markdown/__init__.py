"""Comments in Markdown: how commands and answers are read from them, and how ours are written."""
