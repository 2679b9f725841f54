"""What all trackers share: a comment is posted once, and each that comes acts at most once."""
