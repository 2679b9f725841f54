"""What every request meets on its way in, and the few addresses that belong to no app."""
