"""Ontologies as data: what their rules say, and what is said of files that are wrong."""

from __future__ import annotations

import pytest

from knotwork._extensions.patterns.ontology import default_ontology, derive_ontology, parse_ontology
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork.errors import ConfigError
from knotwork.records import Edge, EdgeType, Entity, Query, entity_id

BORN_ONLY = """
rest = 0.0
untyped = 0.0
[[follow]]
from = "PERSON"
to = ["PLACE"]
relations = ["born*"]
direction = "out"
[[follow]]
from = ["WORK"]
relations = ["directed by"]
weight = 0.5
[[ask]]
words = ["where", "哪里"]
types = ["PLACE"]
"""


def entity(name, type_):
    return Entity(entity_id(name), name, name, type_, 1)


PERSON, PLACE, WORK, UNTYPED = (entity(t.lower(), t) for t in ("PERSON", "PLACE", "WORK", ""))


def weight(ontology, source, relation, target, *, forward=True):
    ends = (source.id, target.id) if forward else (target.id, source.id)
    edge = Edge(ends[0], EdgeType.RELATES, ends[1], 1.0, relation)
    return ontology.weight(edge, source, target)


def test_the_first_rule_that_fits_decides():
    ontology = parse_ontology(BORN_ONLY, name="test")
    assert weight(ontology, PERSON, "born in", PLACE) == 1.0
    assert weight(ontology, PERSON, "Born In", PLACE) == 1.0
    assert weight(ontology, PERSON, "born in", PLACE, forward=False) == 0.0
    assert weight(ontology, PERSON, "born in", WORK) == 0.0
    assert weight(ontology, PERSON, "likes", PLACE) == 0.0
    assert weight(ontology, WORK, "directed by", PERSON) == 0.5
    assert weight(ontology, WORK, "directed by", PERSON, forward=False) == 0.5


def test_an_untyped_entity_may_be_of_any_type():
    text = BORN_ONLY.replace("untyped = 0.0", "untyped = 0.8")
    ontology = parse_ontology(text, name="test")
    assert weight(ontology, UNTYPED, "born in", PLACE) == pytest.approx(0.8)
    assert weight(ontology, UNTYPED, "born in", UNTYPED) == pytest.approx(0.64)


def test_questions_say_which_types_they_want():
    ontology = parse_ontology(BORN_ONLY, name="test")
    assert ontology.wanted_types("Where was she born?") == {"place"}
    assert ontology.wanted_types("她出生在哪里？") == {"place"}
    assert ontology.wanted_types("Nowhere to go") == frozenset()


def test_the_built_in_ontology_knows_both_languages():
    ontology = default_ontology()
    assert weight(ontology, PERSON, "born in", PLACE) == 1.0
    assert weight(ontology, PERSON, "出生於", PLACE) == 1.0
    assert weight(ontology, WORK, "comedy film directed by", PERSON) == 1.0
    number = entity("number", "NUMBER")
    assert weight(ontology, PERSON, "born in", number) < 0.5
    assert ontology.wanted_types("谁导演了这部电影") == {"person", "organization"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rest = 2", r"`o`: `rest` is 2"),
        ("rest = true", r"`rest` is True"),
        ("rests = 0.5", r"`rests` in the ontology `o`.*`rest`"),
        ("[[follow]]\n[[follow]]\nweight = -1", r"\[\[follow\]\] number 2: `weight` is -1"),
        ("[[follow]]\nrelation = ['x']", r"`relation` in `o`, \[\[follow\]\] number 1.*relations"),
        ("[[follow]]\ndirection = 'up'", r"number 1: `direction` is 'up'. Valid: .*\"in\""),
        ("[[follow]]\nfrom = [1]", r"number 1: `from` is \[1\]"),
        ("follow = 3", r"`follow` must be a list of tables"),
        ("[[ask]]\nwords = ['who']", r"\[\[ask\]\] number 1 needs both"),
        ("rest = =", r"`o` is not valid TOML: .*line 1"),
    ],
)
def test_errors_name_their_place(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_ontology(text, name="o")


def test_a_file_that_is_not_there_is_named(facts, tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml"):
        build_retriever("ontology", store=facts, options={"ontology": str(tmp_path / "none.toml")})


def test_a_walk_follows_what_a_file_says(facts, tmp_path):
    path = tmp_path / "born.toml"
    path.write_text(BORN_ONLY, "utf-8")
    retriever = build_retriever("ontology", store=facts, options={"ontology": str(path)})
    evidence = retriever.retrieve(Query("Where was the director of Silver Lantern born?"))
    relations = {hop.relation for path in evidence.paths for hop in path.hops}
    assert relations == {"directed by", "born in"}
    assert "place" in evidence.trace[1]


def test_rules_can_be_derived_from_the_index(facts):
    ontology = derive_ontology(facts)
    by_relation = {rule.relations[0]: rule for rule in ontology.rules if rule.sources}
    assert by_relation["born in"].sources <= {"person", "place"}
    # "located in" leads from a city to one country, and from a country back to two cities.
    there = weight(ontology, entity("tartu", "PLACE"), "located in", PLACE)
    back = weight(ontology, entity("estonia", "PLACE"), "located in", PLACE, forward=False)
    assert there > back
    retriever = build_retriever("ontology", store=facts, options={"ontology": "derived"})
    evidence = retriever.retrieve(Query("Where was the director of Silver Lantern born?"))
    assert any(path.text.endswith("Tartu") for path in evidence.paths)
