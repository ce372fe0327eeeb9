"""A person's own queries are chosen and filled, with a model or without."""

import pytest
from tests.retrieval.queries.films import film_store, values

from knotwork._extensions.queries.cypher_templates import CypherTemplatesRetriever, read_templates
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.errors import ConfigError
from knotwork.records import Query

FILE = """
[[template]]
name = "films of a director"
description = "films that a person directed"
questions = ["Which films did Marta Ilves direct?"]
statement = "MATCH (f:Film)-[:DIRECTED_BY]->(p:Person {name: $person}) RETURN f.title"
slots.person = { kind = "Person", property = "name" }

[[template]]
name = "films since a year"
description = "films that came out since a year"
statement = "MATCH (f:Film) WHERE f.year >= $year RETURN f.title"
slots.year = { type = "integer" }
"""


@pytest.fixture(scope="module")
def store():
    return film_store()


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "templates.toml"
    file.write_text(FILE, "utf-8")
    return file


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which films did Olev Raud direct?", ["Copper Kettle", "Paper Moon"]),
        ("films that came out since 1960", ["Copper Kettle", "Paper Moon"]),
    ],
)
def test_the_matcher_chooses_and_fills(store, path, question, expected):
    evidence = CypherTemplatesRetriever(
        store=store, options=CypherTemplatesRetriever.Options(templates=path)
    ).retrieve(Query(question))
    (result,) = evidence.results
    assert values(result) == expected


def test_a_question_that_fills_no_slot_runs_nothing(store, path):
    retriever = CypherTemplatesRetriever(
        store=store, options=CypherTemplatesRetriever.Options(templates=path)
    )
    assert retriever.retrieve(Query("Which films did somebody direct?")).results == ()


def test_a_model_chooses_and_its_values_are_aligned(store, path):
    model = ScriptedChatModel("1 | person=olev raud")
    retriever = CypherTemplatesRetriever(
        store=store, model=model, options=CypherTemplatesRetriever.Options(templates=path)
    )
    (result,) = retriever.retrieve(Query("films that Olev Raud directed")).results
    assert result.parameters == {"person": "Olev Raud"}
    assert values(result) == ["Copper Kettle", "Paper Moon"]


def test_text_written_into_a_slot_is_a_value_and_never_code(store, path):
    model = ScriptedChatModel('1 | person=x"}) RETURN p //')
    retriever = CypherTemplatesRetriever(
        store=store, model=model, options=CypherTemplatesRetriever.Options(templates=path)
    )
    evidence = retriever.retrieve(Query("films that Olev Raud directed"))
    assert evidence.results[0].statement.startswith("MATCH (f:Film)-[:DIRECTED_BY]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "contains no"),
        ("[[template]]\nname = 'a'", "has no statement"),
        ("[[template]]\nstatement = 'RETURN $x'", "`x` must be both"),
        ("[[template]]\nstatement = 'RETURN 1'\nother = 1", "unknown key"),
        ("[[template]]\nstatement = 'RETURN $x'\nslots.x = { type = 'colour' }", "Valid: text"),
        ("[[template", "cannot be read"),
    ],
)
def test_a_wrong_file_is_reported(tmp_path, text, said):
    file = tmp_path / "templates.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=said):
        read_templates(file)
