"""Import indexes of Microsoft GraphRAG and LightRAG, and export tables of GraphRAG."""
