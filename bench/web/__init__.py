"""What people wait for in a browser."""
