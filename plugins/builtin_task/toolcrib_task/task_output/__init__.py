"""TaskOutput: how a background task is doing, and what it has written."""
