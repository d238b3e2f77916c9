"""Bash: runs a shell command."""
