"""What a step hands back: read, judged and put into one shape; what follows from it is planning."""
