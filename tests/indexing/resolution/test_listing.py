"""Decisions about names as Python lists them for a person."""

import pytest
from tests.indexing.resolution.worlds import groups_by_name, idof, make_index
from tests.stores.minimal_store import MinimalStore

import knotwork
from knotwork._extensions.graphs.entities import Entities
from knotwork._indexing.resolution.resolver import SameNames, read_same_names
from knotwork.errors import ConfigError, MissingCapability, UnknownName
from knotwork.records import PERSON_SOURCE


@pytest.fixture(params=["memory:", "index.knot"])
def base(request, tmp_path):
    path = request.param if request.param == "memory:" else tmp_path / request.param
    with make_index(path=path) as made:
        yield made


def test_things_have_the_names_of_their_groups_those_of_most_chunks_first(base):
    assert base.entities.aliases() == SameNames()
    done = base.entities.find_aliases()
    known = base.entities.aliases()
    assert known.compared
    assert len(known.things) == done.groups > 3
    assert sorted((frozenset(t.names) for t in known.things), key=sorted) == groups_by_name(
        base.store
    )
    assert [t.chunks for t in known.things] == sorted(
        (t.chunks for t in known.things), reverse=True
    )
    for thing in known.things:
        assert thing.entity_ids[0] == base.store.resolutions.groups()[thing.entity_ids[1]]
        assert len(thing.decisions) >= len(thing.names) - 1
        assert all({d.first, d.second} <= set(thing.names) for d in thing.decisions)


def test_several_names_may_be_asked_about(base):
    base.entities.find_aliases()
    known = base.entities.aliases(["WHO", "Marie Curie"])
    assert {"WHO", "Curie"} <= {name for thing in known.things for name in thing.names}
    assert len(known.things) == 2
    assert base.entities.aliases("Kenya").things == ()
    with pytest.raises(UnknownName, match="Kenya"):
        base.entities.aliases("Keny")


def test_merges_and_splits_are_returned_as_they_apply(base):
    base.entities.find_aliases()
    base.graph.correct("split", "Marie Curie", other="Curie")
    (parted,) = base.entities.aliases("Curie").apart
    assert (parted.decision.by_person, parted.decision.joins) == (True, False)
    assert {parted.first, parted.second} == {"Curie", "Marie Curie"}
    assert base.graph.correct("merge", "Curie", other="Marie Curie").applied
    (joined,) = base.entities.aliases("Curie").things[0].decisions
    assert joined.decision.source == PERSON_SOURCE
    assert not joined.refused
    with pytest.raises(ConfigError, match="one entity"):
        base.graph.correct("merge", "Curie", other="CURIE")


def test_a_refused_join_is_among_what_is_held_apart(base):
    base.entities.find_aliases()
    base.graph.correct("split", "Marie Curie", other="Curie")
    base.graph.correct("merge", "Curie", other="Paris")
    refused = base.graph.correct("merge", "Paris", other="Marie Curie")
    pairs = {frozenset((idof("Paris"), idof(name))) for name in ("Curie", "Marie Curie")}
    (lost,) = [item for item in base.entities.aliases().apart if item.refused]
    assert frozenset(lost.decision.pair) == max(pairs, key=sorted)
    ends = *refused.correction.entity_ids, *refused.correction.other_ids
    assert refused.applied is not (set(ends) == set(lost.decision.pair))


def test_homonyms_have_the_documents_of_each_meaning(base):
    assert [(found.name, found.documents) for found in base.entities.homonyms("Curie")] == []
    text = "Tom Wilson was a {0}. In the evening Wilson went home as any {0} does."
    base.index_documents(
        [
            knotwork.Document("a", text.format("sailor")),
            knotwork.Document("b", text.replace("Tom", "Anna").format("doctor")),
        ]
    )
    assert base.entities.homonyms() == ()
    base.entities.find_aliases()
    (found,) = base.entities.homonyms()
    assert base.entities.homonyms("Tom Wilson") == ()
    assert found.name == "Wilson"
    assert sorted(found.documents) == [("a",), ("b",)]


def test_a_store_that_holds_no_decisions_has_none_and_takes_none(base):
    plain = MinimalStore(base.store)
    entities = Entities(plain)
    assert read_same_names(plain) == SameNames()
    with pytest.raises(MissingCapability, match=r"`memory:` does not support merged entities"):
        entities.find_aliases()
