"""Say what an index is about, and offer questions that its documents were found to answer."""
