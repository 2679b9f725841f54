"""The site: settings, addresses, the API as a whole, processes; what it does is in the two apps."""
