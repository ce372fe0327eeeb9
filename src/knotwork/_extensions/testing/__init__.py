"""Contract suites for stores, models and other parts, and a server that replies by rules."""
