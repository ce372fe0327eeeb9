"""Import existing graphs unchanged: triples, tables of nodes and edges, GraphML, RDF."""
