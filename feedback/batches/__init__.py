"""Many runs answered together: one page, one text, one comment; starting them is `engine`'s."""
