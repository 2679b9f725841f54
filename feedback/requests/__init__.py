"""The heart: a request is opened, answered once, retracted or withdrawn, and announced."""
