"""Use an index from LangChain, LlamaIndex and Haystack.

Each module needs the extra of the same name. Import the module itself, for example
``from knotwork.adapters.langchain import KnotworkRetriever``.
"""
