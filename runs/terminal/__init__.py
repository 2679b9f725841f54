"""What commands share with a person at a terminal: laying out, watching, reading files."""
