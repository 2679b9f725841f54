"""What measurements stand on: a scratch site, a filled database, a process of their own."""
