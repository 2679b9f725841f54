"""The page that starts runs; what a start means is `engine.starting`'s."""
