"""Plugins that load and then raise."""
