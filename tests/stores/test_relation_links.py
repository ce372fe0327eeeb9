"""The fast reading of relations equals the full scan."""

import pytest
from tests.retrieval.paths.films import FILMS, put_triples

from knotwork._stores.base import RelationLink
from knotwork._stores.urls import open_store
from knotwork._text.names import normal_form
from knotwork.records import EdgeType, entity_id


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("links") / "films.knot"
    store = put_triples(open_store(str(path), create=True), FILMS)
    yield store.graph
    store.close()


def links_of_scan(graph):
    found = {}
    for edge in graph.edges(types=[EdgeType.RELATES]):
        seen = (edge.source, RelationLink(edge.relation, True, edge.target, edge.weight))
        turned = (edge.target, RelationLink(edge.relation, False, edge.source, edge.weight))
        for node, link in (seen, turned):
            found.setdefault(node, []).append(link)
    return found


def test_links_match_the_scan(graph):
    expected = links_of_scan(graph)
    found = graph.relation_links([*expected, "0" * 16, "no id"], limit=100)
    assert {key: sorted(links) for key, links in found.items()} == {
        key: sorted(links) for key, links in expected.items()
    }
    for links in found.values():
        keys = [(not link.forward, -link.weight, link.other) for link in links]
        assert keys == sorted(keys)


def test_a_limit_cuts_each_direction(graph):
    marta = entity_id(normal_form("Marta Ilves"))
    assert len(graph.relation_links([marta], limit=2)[marta]) == 2
    assert graph.relation_links([marta], limit=0) == {}


def test_chunks_state_relations(graph):
    edges = list(graph.edges(types=[EdgeType.RELATES]))
    asked = [(edge.source, edge.relation, edge.target) for edge in edges]
    wrong = ("0" * 16, "directed_by", "1" * 16)
    told = graph.relation_chunks([*asked, wrong, ("no id", "", "")], limit=4)
    assert told == [*(edge.chunks for edge in edges), (), ()]
