"""Relations of a made graph are a vocabulary; words of texts are not."""

from tests.retrieval.paths.films import FILMS, put_triples

from knotwork._extensions.paths.path_retriever import REGULAR_RELATION, RelationRegularity
from knotwork._stores.urls import open_store

SAID = [(f"Town {n}", f"was {n} miles north of", f"Village {n}") for n in range(12)]


def test_a_graph_with_few_relations_is_regular(films):
    assert RelationRegularity(films).holds({"directed_by", "written_by"})


def test_relations_that_hold_once_are_not():
    store = put_triples(open_store("memory:", create=True), [*FILMS, *SAID])
    assert not RelationRegularity(store).holds({"directed_by"})


def test_a_frequent_relation_is_regular_anywhere_unless_it_is_no_word():
    often = [
        (f"Town {n}", r, f"River {n}") for n in range(REGULAR_RELATION) for r in ("on", "fords")
    ]
    said = [(f"Hill {n}", f"rises {n} feet over", f"Lake {n}") for n in range(12)]
    store = put_triples(open_store("memory:", create=True), [*often, *said])
    regularity = RelationRegularity(store)
    assert regularity.holds({"fords"})
    assert not regularity.holds({"on"})
    assert not regularity.holds({"fords", "rises 3 feet over"})


def test_it_follows_the_store():
    store = put_triples(open_store("memory:", create=True), FILMS)
    regularity = RelationRegularity(store)
    assert regularity.holds({"directed_by"})
    put_triples(store, SAID)
    assert not regularity.holds({"directed_by"})
