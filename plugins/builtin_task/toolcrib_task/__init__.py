"""The builtin tools that manage tasks; they arrive with background execution."""
