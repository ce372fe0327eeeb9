"""A model's statements run read-only, are repaired by what happens, and rules stand behind it."""

import pytest
from tests.retrieval.queries.films import film_store, values

from knotwork._extensions.queries.model_translators import Example, ExampleBook, parse_statement
from knotwork._extensions.queries.query_retrievers import TextToCypherRetriever
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.enrichment_contract import sample_community, sample_report
from knotwork._extensions.testing.store_contract import add_document
from knotwork._inference.chat import ChatReply
from knotwork._stores.urls import open_store
from knotwork.errors import ModelUnavailable
from knotwork.records import Query

GOOD = "MATCH (f:Film)-[:DIRECTED_BY]->(p:Person) WHERE p.name = 'Olev Raud' RETURN f.title"
QUESTION = "Which films did Olev Raud make?"


@pytest.fixture(scope="module")
def store():
    return film_store()


def test_the_prompt_has_schema_samples_counts_names_and_examples(store):
    model = ScriptedChatModel(f"```cypher\n{GOOD};\n```")
    examples = [Example("Who acted in a film?", "MATCH (p)-[:ACTED_IN]->() RETURN p.name")]
    retriever = TextToCypherRetriever(
        store=store, model=model, options=TextToCypherRetriever.Options(examples=examples)
    )
    (result,) = retriever.retrieve(Query(QUESTION)).results
    assert values(result) == ["Copper Kettle", "Paper Moon"]
    said = model.requests[0].messages[-1].content
    assert "(:Film) 3 nodes" in said
    assert "(:Film)-[:DIRECTED_BY]->(:Person) 3 times" in said
    assert "'Olev Raud'" in said
    assert "[:ACTED_IN]->() RETURN p.name" in said
    assert model.requests[0].messages[0].content.startswith("task: translate-question")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("MATCH (f:Film RETURN f", ""),
        ("MATCH (f:Film) DELETE f", "Only read statements are supported"),
        ("CALL apoc.meta.schema()", "Procedures are not supported"),
        ("MATCH (f:Film {title: 'Nowhere'}) RETURN f", "found nothing"),
        ("LOAD CSV FROM 'file:///etc/passwd' AS x RETURN x", "Only read statements are supported"),
    ],
)
def test_failures_are_reported_and_repaired(store, wrong, told):
    model = ScriptedChatModel([wrong if wrong[0] in "MC" else f"WITH 1 AS a {wrong}", GOOD])
    retriever = TextToCypherRetriever(store=store, model=model)
    evidence = retriever.retrieve(Query(QUESTION))
    assert values(evidence.results[0]) == ["Copper Kettle", "Paper Moon"]
    assert told in model.requests[1].messages[-1].content
    assert any(line.startswith("problem:") for line in evidence.trace) or "nothing" in told


def test_repairs_are_bounded_and_rules_follow(store):
    model = ScriptedChatModel("MATCH (f:Film RETURN f")
    retriever = TextToCypherRetriever(
        store=store, model=model, options=TextToCypherRetriever.Options(rounds=2)
    )
    evidence = retriever.retrieve(Query("Which films were directed by Olev Raud?"))
    assert len(model.requests) <= 2
    assert values(evidence.results[0]) == ["Copper Kettle", "Paper Moon"]


def test_a_model_that_cannot_be_had_is_noted(store):
    model = ScriptedChatModel([], errors={1: ModelUnavailable("gone")})
    evidence = TextToCypherRetriever(store=store, model=model).retrieve(
        Query("Which films were directed by Olev Raud?")
    )
    assert any("language model failed" in note for note in evidence.notes)
    assert values(evidence.results[0]) == ["Copper Kettle", "Paper Moon"]


def test_chinese_questions_get_a_chinese_prompt(store):
    model = ScriptedChatModel("none")
    TextToCypherRetriever(store=store, model=model).retrieve(Query("哪些电影是导演拍的？"))
    assert "只读" in model.requests[0].messages[0].content


def test_a_statement_is_found_in_what_models_write_around_it():
    assert parse_statement(ChatReply(f"Sure! {GOOD};")) == GOOD
    assert parse_statement(ChatReply("none")) == ""


def test_the_nearest_example_comes_first():
    book = ExampleBook([Example("How many cats are there?", "a"), Example("Who feeds a dog?", "b")])
    (first, likeness), *_ = book.nearest("Who feeds a bird?")
    assert first.statement == "b"
    assert 0 < likeness <= 1
    assert ExampleBook([]).nearest("Who?") == []


def test_a_model_may_ask_for_communities(small_graph):
    statement = (
        "MATCH (e:Entity {name: 'Ada'})-[:IN_COMMUNITY]->(c:Community {level: 0}) RETURN c.title"
    )
    model = ScriptedChatModel(statement)
    retriever = TextToCypherRetriever(store=small_graph, model=model)
    (result,) = retriever.retrieve(Query("Which community does Ada belong to?")).results
    assert result.rows == (("Title",),)
    said = model.requests[0].messages[-1].content
    assert "(:Community) 1 nodes: title text; summary text; level integer; rating number" in said
    assert "(:Entity)-[:IN_COMMUNITY]->(:Community) 2 times" in said


def test_words_of_communities_make_no_plan_of_rules(small_graph):
    (result,) = (
        TextToCypherRetriever(store=small_graph)
        .retrieve(Query("Which title of which level does Ada have?"))
        .results
    )
    assert "Community" not in result.statement


@pytest.fixture
def small_graph():
    store = open_store("memory:")
    add_document(store, "a.md", ["Ada", "Bob"], link=True)
    community = sample_community("top", of="ada bob")
    store.communities.replace([community])
    store.communities.put_reports([sample_report(community)])
    return store
