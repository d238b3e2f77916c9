"""What the user and the workspace configure, read once and passed down."""
