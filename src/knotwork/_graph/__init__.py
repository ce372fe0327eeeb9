"""Graph algorithms: communities, their hierarchy, PageRank, walks, map layout; graphs to edit."""
