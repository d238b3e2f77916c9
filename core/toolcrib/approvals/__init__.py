"""Remembers what a user approved: for a session, or for good in a `toolcrib.toml`."""
