"""Extractions reduced to the types and relations of a schema."""

from dataclasses import replace

import pytest
from tests.transform.documents import cut, extract

from knotwork._extensions.model_indexing.extraction_schema import (
    ExtractionSchema,
    LeftOut,
    SchemaFilter,
)
from knotwork._transform.no_extractor import NoExtractor
from knotwork.records import ALIAS_RELATION, Description, Extraction, Mention, Relation

SCHEMA = ExtractionSchema.from_mapping(
    {"entity_types": ["Person", "Firm"], "patterns": [["Person", "works for", "Firm"]]}
)
ADA, ACME, ROME = (
    Mention("c", name, name.title(), kind)
    for name, kind in (("ada", "PERSON"), ("acme", "firm"), ("rome", "PLACE"))
)
BARE = Mention("c", "blue", "Blue", "")


def relation(source, name, target):
    return Relation("c", source.entity_id, name, target.entity_id)


def reduced(*relations, schema=SCHEMA, mentions=(ADA, ACME, ROME, BARE)):
    left_out = LeftOut()
    descriptions = tuple(Description("c", m.normal_form, "x") for m in mentions)
    found = Extraction("c", mentions, relations, descriptions)
    return SchemaFilter(schema).keep(found, left_out), left_out


def test_only_listed_types_stay_in_the_spelling_of_the_schema():
    kept, left_out = reduced(relation(ADA, "WORKS_FOR", ACME), relation(ADA, "works for", ACME))
    assert [(m.name, m.type) for m in kept.mentions] == [("Ada", "Person"), ("Acme", "Firm")]
    assert kept.relations == (relation(ADA, "works for", ACME),)
    assert {d.normal_form for d in kept.descriptions} == {"ada", "acme"}
    assert left_out.entities == {"PLACE": 1, "": 1}
    assert not left_out.relations


@pytest.mark.parametrize(
    "fact",
    [(ACME, "works for", ADA), (ADA, "likes", ACME), (ADA, "works for", ROME)],
    ids=["against the pattern", "not listed", "an end is left out"],
)
def test_other_relations_are_left_out_and_counted(fact):
    kept, left_out = reduced(relation(*fact))
    assert kept.relations == ()
    assert left_out.relations == {fact[1]: 1}


def test_aliases_stay_aliases():
    kept, left_out = reduced(relation(ADA, ALIAS_RELATION, ACME))
    assert kept.relations == (relation(ADA, ALIAS_RELATION, ACME),)
    assert not left_out.relations


def test_an_empty_list_allows_all():
    facts = relation(ADA, "likes", ROME), relation(BARE, "likes", ADA)
    only_relations = ExtractionSchema(relation_types=("likes",))
    kept, left_out = reduced(*facts, schema=only_relations)
    assert (len(kept.mentions), kept.relations) == (4, facts)
    assert not left_out
    only_types = ExtractionSchema(entity_types=("person", "place"))
    kept, left_out = reduced(*facts, schema=only_types)
    assert kept.relations == facts[:1]


def test_counts_are_shown_with_the_most_frequent_first():
    left_out = LeftOut()
    left_out.entities.update({"PLACE": 1_200, "": 3, "A": 2, "B": 1, "C": 1})
    left_out.relations["likes"] = 2
    assert str(left_out) == (
        "1,207 mentions of entities (PLACE 1,200, no type 3, A 2, B 1, …) and 2 relations (likes 2)"
    )


def test_filtering_rule_results_twice_changes_nothing():
    (found,) = extract("Ada Lovelace", "Ada Lovelace worked with Charles Babbage in London.")
    schema = SchemaFilter(ExtractionSchema(entity_types=("PERSON",)))
    once = schema.keep(found, LeftOut())
    assert 0 < len(once.mentions) < len(found.mentions)
    assert schema.keep(once, left := LeftOut()) == once
    assert not left


def test_no_extractor_leaves_each_leaf_chunk_empty():
    document, chunks = cut("Ada", "Ada met Bob.", "They left.")
    parent = replace(chunks[0], id="0" * 16, is_parent=True)
    found = NoExtractor().extract(document, [*chunks, parent])
    assert found == [Extraction(chunk.id) for chunk in chunks]
