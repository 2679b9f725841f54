"""Standing rules: made from a decision, tried in shadow, stopped; deciding is `tool_calls`'."""
