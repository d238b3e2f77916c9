"""`toolcrib mcp`: the MCP servers of the user and of a workspace."""
