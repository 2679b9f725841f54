"""Makes a GitHub App for the site: a manifest goes to GitHub, its id and keys come back."""
