"""The documentation inside the site: its pages, and a search over them."""
