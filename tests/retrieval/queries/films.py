"""A small graph of films and people, and questions about it, in a store that runs Cypher."""

from __future__ import annotations

from functools import cache

from knotwork._stores.urls import open_store
from knotwork.records import PropertyNode, Relationship

PEOPLE = {
    "p1": ("Marta Ilves", 1920),
    "p2": ("Olev Raud", 1931),
    "p3": ("Juhan Kask", 1948),
    "p4": ("Liis Tamm", 1955),
}
FILMS = {
    "f1": ("Silver Lantern", 1954, "01/03/1954"),
    "f2": ("Copper Kettle", 1961, "15/09/1961"),
    "f3": ("Paper Moon", 1978, "07/05/1978"),
}
DIRECTED = [("f1", "p1"), ("f2", "p2"), ("f3", "p2")]
ACTED = [("p3", "f1"), ("p3", "f2"), ("p4", "f2"), ("p4", "f3")]


@cache
def film_store():
    """Return a graph of films, which is only read."""
    store = open_store("memory:", create=True)
    nodes = [
        PropertyNode(key, ("Person",), {"name": name, "born": born})
        for key, (name, born) in PEOPLE.items()
    ]
    nodes += [
        PropertyNode(key, ("Film",), {"title": title, "year": year, "release_date": date})
        for key, (title, year, date) in FILMS.items()
    ]
    edges = [Relationship(f"d{n}", "DIRECTED_BY", *ends) for n, ends in enumerate(DIRECTED)]
    edges += [Relationship(f"a{n}", "ACTED_IN", *ends) for n, ends in enumerate(ACTED)]
    with store.transaction():
        store.property_graphs.put("films", nodes, edges)
    return store


def values(result):
    """Return the first column of a result; of a node its name or title."""
    found = []
    for row in result.rows:
        value = row[0]
        if isinstance(value, dict):
            value = value["properties"].get("name") or value["properties"].get("title")
        found.append(value)
    return sorted(found, key=str)
