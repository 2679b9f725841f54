"""What people say to FABER on GitHub issues."""
