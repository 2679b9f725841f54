"""Small stand-ins for Claude Code and Codex that keep to what their makers document."""
