"""Programs that are called when their question is settled; people are told elsewhere."""
