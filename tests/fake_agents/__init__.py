"""Small stand-ins for Claude Code, Codex and gh that keep to what their makers document."""
