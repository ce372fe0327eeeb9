"""Back up, repair and copy an index, and compute its vectors with another model."""
