"""Show the bundled sample."""
