"""What commands share with a person at a terminal; asking for decisions is `feedback.terminal`."""
