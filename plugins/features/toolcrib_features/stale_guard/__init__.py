"""Keeps an agent from changing a file that it has not read in its present state."""
