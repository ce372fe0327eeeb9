"""The Model Context Protocol within the server: its keys, its workspaces, its limits."""
