"""The shapes of results in JSON: one set for the command line, the HTTP server and MCP tools.

Each shape is a dataclass built from records by its ``of``. The command line prints it as an object,
FastAPI derives the OpenAPI document and the types of the web pages from it, and the MCP server
returns a compact view. A record whose fields are the keys is its own shape.
"""
