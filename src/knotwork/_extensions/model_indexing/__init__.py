"""Have a language model read documents, judge names and write reports for an index."""
