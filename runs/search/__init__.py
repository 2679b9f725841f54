"""Finding among many runs at the cost of few: the search index, counts that stop, names in use."""
