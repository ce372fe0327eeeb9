"""An index as a filter leaves it."""
