"""Neo4j 5: written from its documentation, not tested against a server."""

from knotwork._graph_servers.dialects.dialect import Dialect

DIALECT = Dialect(
    name="Neo4j",
    mark="neo4j/",
    is_tested=False,
    index="CREATE INDEX knotwork_{label} IF NOT EXISTS FOR (n:`{label}`) ON (n.id)",
)
