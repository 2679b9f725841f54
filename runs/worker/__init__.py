"""Executes a run's steps, here or through an executor outside; what comes next is `engine`'s."""
