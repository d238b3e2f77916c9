"""TaskStop: end a background task."""
