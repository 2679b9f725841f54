"""Who decides a request: who may answer, in whose place, and whom it is assigned to."""
