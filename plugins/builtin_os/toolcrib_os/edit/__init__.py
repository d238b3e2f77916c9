"""The Edit tool: replace an exact text in a file and leave every other byte alone."""
