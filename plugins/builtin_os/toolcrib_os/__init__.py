"""The builtin tools that act on files and processes."""
