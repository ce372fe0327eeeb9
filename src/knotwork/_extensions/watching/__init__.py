"""Follow folders: index what changes in them."""
