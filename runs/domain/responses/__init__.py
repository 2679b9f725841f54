"""What a step hands back: read, judged, put into one shape; what follows is `planning`'s."""
