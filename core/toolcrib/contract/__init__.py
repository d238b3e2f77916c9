"""What tool authors and hosts share: the records a tool is made of, knowing nothing of how it runs."""
