"""What a workflow says about a decision: by when it is wanted, and what follows then."""
