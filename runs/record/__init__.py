"""A run as documents: Run JSON, and the seeds' state.json, metadata.json and events."""
