"""TaskList: which background tasks there are."""
