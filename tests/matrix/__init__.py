"""Every door against everybody: a door without a rule here fails."""
