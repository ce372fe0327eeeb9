"""The commands, grouped by subject. `knotwork.cli.main.COMMANDS` maps each to its module."""
