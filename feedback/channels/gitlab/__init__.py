"""GitLab's deliveries: the token they come with, and which comment they name."""
