"""The MCP client: the tools of servers, beside those of plugins."""
