"""What FABER takes of a machine: when it starts, while nobody asks for anything, for a command."""
