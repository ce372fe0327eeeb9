"""Graph algorithms: communities, their hierarchy, PageRank and walks."""
