"""Questions that ask for several things: divided by rules, and answered part by part."""
