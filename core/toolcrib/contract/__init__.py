"""What tool authors and hosts share: the records a tool is made of, not how it is run."""
