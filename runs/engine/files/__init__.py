"""The files that steps name: read, kept as revisions, missed when they cannot be shown."""
