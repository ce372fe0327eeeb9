"""Names that mean several things are found, and merged with nothing."""

import numpy as np
import pytest
from tests.indexing.resolution.worlds import add, idof, judge_by, make_index, resolved

from knotwork._indexing.resolution.resolver import resolve_entities
from knotwork._text.names import normal_form
from knotwork.records import ALIAS_RELATION, Mention, Relation

TWO_ALTMANS = {
    "ai.txt": "Sam Altman runs a laboratory in Oakland. Altman spoke in Oakland. "
    "Reporters asked Altman about money.",
    "film.txt": "Robert Altman made films in Kansas. Altman died in Burbank. "
    "Actors in Burbank admired Altman.",
}
ONE_ALTMAN = {"ai.txt": TWO_ALTMANS["ai.txt"]}


def test_a_surname_of_two_persons_is_joined_with_neither():
    base, changes = resolved(TWO_ALTMANS, judge_by(lambda *_: True)[0], TWO_ALTMANS)
    (homonym,) = changes.homonyms
    assert homonym.entity_id == idof("Altman")
    senses = {
        frozenset(base.store.documents.chunks(chunks)[c].document_id for c in chunks)
        for chunks in homonym.senses
    }
    assert len(senses) == 2
    assert idof("Altman") not in base.store.resolutions.groups()
    alone, _ = resolved(ONE_ALTMAN, texts=ONE_ALTMAN)
    assert alone.store.resolutions.groups()[idof("Altman")]


def test_a_surname_that_becomes_a_homonym_is_let_go_and_taken_back():
    base, _ = resolved(ONE_ALTMAN, texts=ONE_ALTMAN)
    store = base.store
    before = store.resolutions.decisions()
    assert before
    add(base, "film.txt", TWO_ALTMANS)
    assert len(resolve_entities(store).homonyms) == 1
    assert idof("Altman") not in store.resolutions.groups()
    base.delete("film.txt")
    assert resolve_entities(store).homonyms == ()
    assert store.resolutions.decisions() == before


def mentions_of(chunk, *names):
    return [Mention(chunk, normal_form(name), name, kind) for name, kind in names]


@pytest.mark.parametrize("shared", [False, True])
def test_types_that_exclude_each_other_make_two_senses_where_nothing_else_is_shared(shared):
    texts = {f"{n}.txt": f"number {n} says nothing." for n in range(4)}
    base = make_index(texts, texts=texts)
    store = base.store
    chunks = [
        ids[0] for ids in store.documents.chunk_ids_of(store.documents.document_ids()).values()
    ]
    store.graph.remove_chunks(chunks)
    around = [("Kansas Farm", ""), ("Ada Wong", ""), ("Wheat Board", "")]
    others = around if shared else [("Oslo Fjord", ""), ("Ida Moe", ""), ("Ski Club", "")]
    both = [("Lincoln", "PERSON"), ("Lincoln", "PLACE")]
    store.graph.upsert(
        mentions=[
            mention
            for place, chunk in enumerate(chunks)
            for mention in mentions_of(
                chunk,
                both[place % 2],
                *(around, others)[place % 2],
                ("Abe Lincoln", "PERSON"),
            )
        ],
        relations=[Relation(chunks[0], idof("Lincoln"), ALIAS_RELATION, idof("Abe Lincoln"))],
    )
    found = {homonym.entity_id: homonym for homonym in resolve_entities(store).homonyms}
    if shared:
        assert found == {}
        return
    # What both sides have in common here is Abe Lincoln alone: one of the four beside each.
    assert idof("Lincoln") not in found
    store.graph.remove_chunks([chunks[1], chunks[3]])
    store.graph.upsert(
        mentions=[m for c in (chunks[1], chunks[3]) for m in mentions_of(c, both[1], *others)]
    )
    (homonym,) = resolve_entities(store, changed=[idof("Lincoln")]).homonyms
    assert homonym.entity_id == idof("Lincoln")
    assert {frozenset(side) for side in homonym.senses} == {
        frozenset((chunks[0], chunks[2])),
        frozenset((chunks[1], chunks[3])),
    }


def test_names_with_near_vectors_are_left_to_a_judge():
    texts = {
        "a.txt": "The Quorrel Bureau met the Vantis Agency in Leeds.",
        "b.txt": "The Quorrel Bureau met the Vantis Agency in Paris.",
    }
    base = make_index(texts, texts=texts)
    near = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)
    nearly = np.array([[0.9, np.sqrt(1 - 0.81), 0.0]], dtype=np.float32)
    far = np.array([[0.0, 0.0, 1.0]], dtype=np.float32)
    base.store.vectors("entity").put(
        [
            (idof("Quorrel Bureau"), "q", near),
            (idof("Vantis Agency"), "v", nearly),
            (idof("Leeds"), "l", far),
        ]
    )
    judge, model = judge_by(lambda *_: True)
    resolve_entities(base.store, judge=judge)
    assert len(model.requests) == 1
    groups = base.store.resolutions.groups()
    assert groups.keys() == {idof("Quorrel Bureau"), idof("Vantis Agency")}
