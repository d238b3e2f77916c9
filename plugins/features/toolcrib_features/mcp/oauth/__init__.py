"""Logins at MCP servers: kept in private files, renewed in time, begun only by the user."""
