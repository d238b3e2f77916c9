"""The Write tool: create, replace or append to one file."""
