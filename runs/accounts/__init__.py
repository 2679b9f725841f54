"""Who somebody is and what they may do: accounts, tokens, permissions; signing in is a page."""
