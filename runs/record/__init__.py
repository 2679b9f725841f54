"""A run as documents: Run JSON, state.json, metadata.json; directories are in `feedback`."""
