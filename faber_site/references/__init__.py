"""The pages of the documentation that are made from the code; `make docs` writes them."""
