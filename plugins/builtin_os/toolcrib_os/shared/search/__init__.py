"""How Glob and Grep search: one request, two engines, one format of what they find."""
