"""Former names of members that are now in a part of the knowledge base; their use warns."""

from __future__ import annotations

import warnings
from operator import attrgetter
from typing import Any

MOVED = {
    "cypher": "graph.cypher",
    "describe": "graph.describe",
    "explore": "graph.explore",
    "import_graph": "graph.import_files",
    "import_graph_steps": "graph.import_events",
    "paths": "graph.shortest_paths",
    "find_same_names": "entities.find_aliases",
    "homonyms": "entities.homonyms",
    "join": "entities.merge",
    "merge_entities": "entities.merge",
    "part": "entities.split",
    "same_names": "entities.aliases",
    "split_entities": "entities.split",
    "has_communities": "communities.is_current()",
    "member_names": "communities.member_names",
    "topics": "communities.stored",
}
"""Where each former member is now; parentheses stand for a property that became a method."""


def find_moved(base: object, name: str) -> Any:  # noqa: ANN401 - any member
    """Return the member that replaces a former one, and warn; for `__getattr__`.

    Raises AttributeError for any other name.
    """
    if name not in MOVED:
        kind = type(base).__name__
        raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=base)
    warn_moved(name, MOVED[name], stacklevel=4)
    member = attrgetter(MOVED[name].removesuffix("()"))(base)
    return member() if MOVED[name].endswith("()") else member


def warn_moved(former: str, now: str, *, stacklevel: int = 3) -> None:
    """Warn that a member has moved; by default at the call of the function that calls this."""
    message = f"`KnowledgeBase.{former}` is deprecated: use `KnowledgeBase.{now}`."
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
