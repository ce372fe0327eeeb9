"""Graph algorithms over arrays: communities, their hierarchy, PageRank and map layout."""
