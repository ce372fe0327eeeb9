"""Copy a store to another one, of any kind, and compare their contents by a hash."""
