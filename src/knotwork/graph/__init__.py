"""Graph algorithms over arrays."""
