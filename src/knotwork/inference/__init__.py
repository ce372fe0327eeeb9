"""Models: embedders, local and served."""
