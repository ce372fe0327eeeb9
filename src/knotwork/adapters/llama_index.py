"""Use an index from LlamaIndex: a retriever and a query engine. Needs the extra `llama-index`."""

from knotwork._extensions.adapters.llama_index import KnotworkQueryEngine, KnotworkRetriever

__all__ = ["KnotworkQueryEngine", "KnotworkRetriever"]
