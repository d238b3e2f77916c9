"""Glob: files by the pattern of their paths, newest first."""
