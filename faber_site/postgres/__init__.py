"""Django's PostgreSQL backend with one cheaper look at its connections; queries stay Django's."""
