"""Run read-only openCypher statements on a graph in memory.

`run_statement` parses, plans and runs a statement under `Limits`. No clause or function can write,
and nothing in this package opens a file or a connection: the caller passes a `PropertyGraph`.
"""

from knotwork._cypher.engine import check_statement, run_statement
from knotwork._cypher.limits import Limits
from knotwork._cypher.property_graph import PropertyGraph

__all__ = [
    "Limits",
    "PropertyGraph",
    "check_statement",
    "run_statement",
]
