"""The hook of Claude Code: asks the site about a tool, with the standard library alone."""
