"""A name that means several things is in the communities of each, and glues none together."""

import numpy as np
import pytest
from tests.indexing.communities.worlds import all_documents, make_index, network_of

from knotwork._indexing.communities.detection import (
    read_network,
    refresh_communities,
    stored_communities,
)
from knotwork._text.names import normal_form
from knotwork.records import Document, Homonym, entity_id

BOTH = {
    "harbour": "Alden Pier saw Dark River. Mara Quill crossed Dark River with Captain Ferris.",
    "kitchen": "Chef Odette read Dark River. Wren Bakery sold Dark River to Saffron House.",
}


def idof(name):
    return entity_id(normal_form(name))


def chunks_of(base, name):
    documents = base.store.documents.documents(base.store.documents.document_ids())
    return [
        chunk
        for key, document in documents.items()
        if document.uri == name
        for chunk in base.store.documents.chunk_ids_of([key])[key]
    ]


def senses_of(base):
    river, book = (tuple(chunks_of(base, f"both-{topic}.txt")) for topic in BOTH)
    return Homonym(idof("Dark River"), (river, book), "types differ")


@pytest.fixture(params=["memory:", "index.knot"])
def base(request, tmp_path):
    path = request.param if request.param == "memory:" else tmp_path / request.param
    documents = [Document(f"both-{topic}.txt", text) for topic, text in BOTH.items()]
    with make_index([*all_documents(), *documents], path) as made:
        yield made


def lowest(base, name):
    """Return the lowest communities of a name."""
    held = base.store.communities
    found = held.communities(held.of_entities([idof(name)])[idof(name)]).values()
    deepest = max(community.level for community in found)
    return {community.id for community in found if community.level == deepest}


def test_each_meaning_is_in_the_community_of_what_is_around_it(base):
    refresh_communities(base.store)
    assert len(lowest(base, "Dark River")) == 1
    base.store.homonyms.replace([senses_of(base)])
    assert not base.communities.is_current()
    base.communities.update()
    assert base.communities.is_current()
    assert lowest(base, "Dark River") == lowest(base, "Mara Quill") | lowest(base, "Wren Bakery")
    assert len(lowest(base, "Dark River")) == 2
    before = stored_communities(base.store.communities)
    assert refresh_communities(base.store).changed == 0
    assert stored_communities(base.store.communities) == before
    for community in before:
        assert len(set(community.entity_ids)) == community.size
        assert sum(member.importance for member in community.members) == pytest.approx(1, abs=1e-4)


def test_one_meaning_is_left_when_the_documents_of_the_other_go(base):
    base.store.homonyms.replace([senses_of(base)])
    base.communities.update()
    base.delete("both-kitchen.txt")
    base.communities.update()
    assert lowest(base, "Dark River") == lowest(base, "Mara Quill")


def test_senses_share_what_one_node_had(base):
    one = read_network(base.store)
    base.store.homonyms.replace([senses_of(base)])
    several = read_network(base.store)
    assert len(several.entity_ids) == len(one.entity_ids) + 1
    assert several.homonyms == {idof("Dark River")}
    assert several.plain.sum() == pytest.approx(one.plain.sum())
    sides = np.flatnonzero(np.array(several.entity_ids) == idof("Dark River"))
    around = [{several.node_ids[node] for node in several.plain[[side]].indices} for side in sides]
    assert around[0].isdisjoint(around[1])
    whole = {one.node_ids[n] for n in one.plain[[one.entity_ids.index(idof("Dark River"))]].indices}
    assert around[0] | around[1] == whole


def test_without_homonyms_the_network_is_as_it_was():
    mentions = [("a", "c0"), ("b", "c0"), ("b", "c1")]
    network = network_of(mentions, [("a", "b", 2.0)])
    assert network.homonyms == frozenset()
    assert network.node_ids == ("a", "b", "c0", "c1")
