"""Features: togglable groups of hooks and tools."""
