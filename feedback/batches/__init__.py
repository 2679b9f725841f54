"""Many runs answered together: one page, one text, one comment."""
