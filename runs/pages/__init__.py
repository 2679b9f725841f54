"""What a browser sees of runs, a room for each kind of page; requests are shown by `feedback`."""
