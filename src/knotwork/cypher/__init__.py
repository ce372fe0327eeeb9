"""Read-only openCypher over a graph in memory: no clause, function or value here can write.

`run_statement` parses a statement, plans it, and runs it under `Limits`. Nothing in this room
opens a file or a connection; a store hands it a `PropertyGraph`.
"""

from knotwork.cypher.engine import check_statement, run_statement
from knotwork.cypher.limits import Limits
from knotwork.cypher.property_graph import PropertyGraph

__all__ = [
    "Limits",
    "PropertyGraph",
    "check_statement",
    "run_statement",
]
