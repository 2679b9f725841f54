"""The HTTP calls about requests and batches; what every call shares is in `runs.api`."""
