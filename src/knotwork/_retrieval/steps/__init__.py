"""Steps around a retriever: some change the question before it, others its evidence after it."""
