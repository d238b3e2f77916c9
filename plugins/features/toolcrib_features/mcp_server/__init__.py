"""`toolcrib serve`: the active tools for any MCP client, over stdio or HTTP."""
