"""The commands, grouped by subject. `knotwork._cli.main.COMMANDS` maps each to its module."""
