"""What the framework itself knows of the Model Context Protocol: how tools of servers are named."""
