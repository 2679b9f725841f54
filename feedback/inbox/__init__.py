"""What waits for somebody, in the order it should be answered."""
