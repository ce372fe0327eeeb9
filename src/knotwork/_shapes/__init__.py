"""The JSON of results: one description for the command line, the HTTP server and MCP tools.

A shape names the keys of a record. The command line prints them as an object, FastAPI derives the
OpenAPI document and the types of the web pages from it, and the MCP server has views with fewer.
"""
