"""What a run changed in its repository: taken when people are asked, kept, read again."""
