"""The index as parts of other frameworks: LangChain, LlamaIndex and Haystack.

Each module needs the extra of its name and is imported by it, as in
``from knotwork.adapters.langchain import KnotworkRetriever``.
"""
