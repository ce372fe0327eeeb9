"""Read-only openCypher: the language, and the graphs of stores that it runs on."""
