"""Run read-only openCypher statements on a graph in memory.

`run_statement` parses, plans and runs a statement under `Limits`. No clause or function can write,
and nothing in this package opens a file or a connection: the caller passes a `PropertyGraph`.
"""

from knotwork._extensions.cypher.language.engine import check_statement, run_statement
from knotwork._extensions.cypher.language.limits import Limits
from knotwork._extensions.cypher.language.property_graph import PropertyGraph

__all__ = [
    "Limits",
    "PropertyGraph",
    "check_statement",
    "run_statement",
]
