"""What agents call through MCP: the calls of the API as tools, always as an agent."""
