"""Maps of graphs: where communities and entities lie, kept beside an index, and views of them."""
