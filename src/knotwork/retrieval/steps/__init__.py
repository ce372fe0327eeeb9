"""Steps before and behind a retriever: what changes the question, and what changes its evidence."""
