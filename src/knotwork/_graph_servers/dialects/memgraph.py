"""Memgraph: written from its documentation, not tested against a server."""

import re

from knotwork._graph_servers.dialects.dialect import Dialect

DIALECT = Dialect(
    name="Memgraph",
    mark="memgraph",
    is_tested=False,
    index="CREATE INDEX ON :`{label}`(id)",
    exists=("already exists",),
    # The plan is rows of text, one for each operator, not a plan of the protocol.
    plans_have_type=False,
    writing_steps=re.compile(
        r"^[\s|\\]*\*\s*(Create|Set|Remove|Delete|Merge|Foreach|LoadCsv|CallProcedure)",
        re.MULTILINE,
    ),
)
