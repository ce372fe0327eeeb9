"""The parts of an index as LangChain, LlamaIndex and Haystack have them."""
