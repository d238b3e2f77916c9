"""The background tasks of an agent, and the builtin tools that manage them."""
