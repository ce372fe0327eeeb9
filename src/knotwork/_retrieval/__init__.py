"""Retrievers: one file per family, all behind the protocol `Retriever`."""
