"""Products on top of the core, each in a package that names its parts in `parts.txt`."""
