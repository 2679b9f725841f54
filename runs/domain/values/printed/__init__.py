"""What programs print: their errors, and what steers a terminal."""
