"""The `knotwork` command line: its commands, options, output and exit codes."""
