"""select_tools: loads tools that were announced by name."""
