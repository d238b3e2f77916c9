"""From a batch of calls to one result each."""
