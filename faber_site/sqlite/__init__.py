"""Django's SQLite backend whose writers take turns; queries stay Django's."""
