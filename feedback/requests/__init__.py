"""The heart: a request is opened, answered once, withdrawn, announced; no page, no channel."""
