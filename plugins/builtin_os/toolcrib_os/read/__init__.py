"""Read: numbered lines of a text file within a budget of characters."""
