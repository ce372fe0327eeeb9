"""What stores in SQL databases share: parts of a `Store` over any engine with a `Dialect`."""
