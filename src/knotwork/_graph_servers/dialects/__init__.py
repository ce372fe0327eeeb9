"""Dialects of the graph databases that speak Bolt; `find_dialect` recognises a server.

Each database has a module with a `Dialect` named DIALECT. To add one, add its module here.
"""

from knotwork._graph_servers.dialects import arcadedb, memgraph, neo4j, tugraph
from knotwork._graph_servers.dialects.dialect import Dialect

_KNOWN = (arcadedb.DIALECT, memgraph.DIALECT, tugraph.DIALECT)


def find_dialect(agent: str) -> Dialect:
    """Return the dialect of the server that introduces itself as ``agent``, by default Neo4j's."""
    lowered = agent.lower()
    return next((known for known in _KNOWN if known.mark in lowered), neo4j.DIALECT)


__all__ = ["Dialect", "find_dialect"]
