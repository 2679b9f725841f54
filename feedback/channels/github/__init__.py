"""GitHub's deliveries: how they are signed, which comment they name; no signing in."""
