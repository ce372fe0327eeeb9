"""ArcadeDB 26: tested against the server in its wheel.

It ignores that a session is for reading, and calls every EXPLAIN a write, so that the steps of the
plan are read. A plan does not show what is inside of CALL { }.
"""

import re

from knotwork._graph_servers.dialects.dialect import Dialect

DIALECT = Dialect(
    name="ArcadeDB",
    mark="arcadedb",
    is_tested=True,
    index="CREATE INDEX knotwork_{label} IF NOT EXISTS FOR (n:`{label}`) ON (n.id)",
    plans_have_type=False,
    writing_steps=re.compile(
        r"^\s*\+\s*(CREATE|MERGE|SET|DELETE|REMOVE|FOREACH|LOAD CSV|CALL (?!SUBQUERY))",
        re.MULTILINE,
    ),
)
