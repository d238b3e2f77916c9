"""What a shell command would do: its simple commands, the paths they touch, and the dangers."""
