"""The page that starts a run or a batch."""
