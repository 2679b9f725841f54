"""What keeps a site going for years: backup and restore, pruning, room on the disk."""
