"""The differences between graph databases that speak Bolt; `find_dialect` recognises a server.

ArcadeDB 26 was tested against the server in its wheel. The others were written from documentation
and source, and not tested against a server. To add a database, add its row here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The differences of one database.

    ``mark`` occurs in the greeting of its servers, in lower case. ``is_tested`` is False if it was
    written from documentation only. ``index`` creates the index of property `id` of {label}, again
    without an error if it exists, or if its error has ``exists``; a database without it cannot hold
    a mirror.

    The summary of an EXPLAIN says whether a statement writes; with ``writing_steps``, these find
    steps that write in the text of the plan instead.
    """

    name: str
    mark: str
    index: str
    is_tested: bool = False
    exists: str = ""
    writing_steps: re.Pattern[str] | None = None

    @property
    def is_mirror(self) -> bool:
        """Whether the database can hold a mirror."""
        return bool(self.index)


_NAMED_INDEX = "CREATE INDEX knotwork_{label} IF NOT EXISTS FOR (n:`{label}`) ON (n.id)"

_NEO4J = Dialect(name="Neo4j", mark="neo4j/", index=_NAMED_INDEX)

_KNOWN = (
    # ArcadeDB ignores that a session is for reading, and calls every EXPLAIN a write. A plan does
    # not show what is inside of CALL { }.
    Dialect(
        name="ArcadeDB",
        mark="arcadedb",
        is_tested=True,
        index=_NAMED_INDEX,
        writing_steps=re.compile(
            r"^\s*\+\s*(CREATE|MERGE|SET|DELETE|REMOVE|FOREACH|LOAD CSV|CALL (?!SUBQUERY))",
            re.MULTILINE,
        ),
    ),
    # The plan of Memgraph is rows of text, one for each operator, not a plan of the protocol.
    Dialect(
        name="Memgraph",
        mark="memgraph",
        index="CREATE INDEX ON :`{label}`(id)",
        exists="already exists",
        writing_steps=re.compile(
            r"^[\s|\\]*\*\s*(Create|Set|Remove|Delete|Merge|Foreach|LoadCsv|CallProcedure)",
            re.MULTILINE,
        ),
    ),
    # TuGraph needs labels and their properties to be declared before they are written, so that it
    # can be a source, but not a mirror.
    Dialect(
        name="TuGraph",
        mark="tugraph",
        index="",
        writing_steps=re.compile(
            r"\b(Create|Set|Delete|Merge|Remove|InQueryCall|StandaloneCall)\b", re.IGNORECASE
        ),
    ),
)


def find_dialect(agent: str) -> Dialect:
    """Return the dialect of the server that introduces itself as ``agent``, by default Neo4j's."""
    lowered = agent.lower()
    return next((known for known in _KNOWN if known.mark in lowered), _NEO4J)
