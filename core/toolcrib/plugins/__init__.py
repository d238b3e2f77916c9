"""From installed distributions to loaded plugins and ordered hook implementations."""
