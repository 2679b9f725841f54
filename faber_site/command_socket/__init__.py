"""Commands that the running site executes for somebody at a terminal, because it has loaded all."""
