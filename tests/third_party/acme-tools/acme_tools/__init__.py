"""Tools, hooks and a profile for toolcrib."""
