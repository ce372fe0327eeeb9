"""Questions become queries of typed fragments, whose values are parameters alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.queries.films import film_store, values
from tests.stores.minimal_store import MinimalStore

from knotwork._extensions.queries.plan_assembly import assemble_plans
from knotwork._extensions.queries.query_plans import (
    LinkedQuestion,
    PlanHop,
    PlanNode,
    QueryPlan,
    Returned,
)
from knotwork._extensions.queries.query_retrievers import DynamicCypherRetriever
from knotwork._extensions.queries.query_targets import CypherGraph, quote_name
from knotwork._extensions.queries.target_schema import SchemaLinker, find_mentions, split_name
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.errors import MissingCapability, QueryRefused
from knotwork.records import Query


@pytest.fixture(scope="module")
def store():
    return film_store()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which films were directed by Olev Raud?", ["Copper Kettle", "Paper Moon"]),
        ("How many films did Olev Raud direct?", [2]),
        ("Who acted in Copper Kettle?", ["Juhan Kask", "Liis Tamm"]),
        ("What is the year of Silver Lantern?", [1954]),
        ("Which people acted in films directed by Marta Ilves?", ["Juhan Kask"]),
        ("Which is the latest film directed by Olev Raud?", ["Paper Moon"]),
        ("Which is the earliest film with Liis Tamm?", ["Copper Kettle"]),
        ("Which films after 1960 were directed by Olev Raud?", ["Copper Kettle", "Paper Moon"]),
    ],
)
def test_a_question_finds_its_rows(store, question, expected):
    evidence = DynamicCypherRetriever(store=store).retrieve(Query(question))
    (result,) = evidence.results
    assert values(result) == sorted(expected, key=str), result.statement
    assert evidence.confidence > 0.5
    assert evidence.trace[0].startswith("fragments by rules: MATCH")


def test_values_are_parameters_and_never_text(store):
    question = "Which films were directed by Olev Raud?"
    (result,) = DynamicCypherRetriever(store=store).retrieve(Query(question)).results
    assert "Olev" not in result.statement
    assert "Olev Raud" in result.parameters.values()


def test_a_misspelt_name_is_aligned_to_the_stored_one(store):
    question = "Which films were directed by Olev Rautt?"
    (result,) = DynamicCypherRetriever(store=store).retrieve(Query(question)).results
    assert values(result) == ["Copper Kettle", "Paper Moon"]


def test_a_question_about_nothing_known_has_no_rows_and_a_note(store):
    evidence = DynamicCypherRetriever(store=store).retrieve(Query("xyzzy plugh"))
    assert evidence.results == ()
    assert any("No statement" in note for note in evidence.notes)


def test_a_model_chooses_fragments_and_repairs_them_from_feedback(store):
    replies = [
        "find | x | Movie\nreturn | x",
        (
            "find | f | Film\nhop | f | DIRECTED_BY | p | Person\n"
            "where | p | name | = | olev raud\nreturn | f | title"
        ),
    ]
    model = ScriptedChatModel(replies)
    retriever = DynamicCypherRetriever(store=store, model=model)
    (result,) = retriever.retrieve(Query("What did Olev Raud make?")).results
    assert values(result) == ["Copper Kettle", "Paper Moon"]
    told = model.requests[1].messages[-1].content
    assert "Unknown kind `Movie`" in told
    assert result.parameters == {"p0": "Olev Raud"}


def test_rules_go_on_where_a_model_says_nothing_of_use(store):
    retriever = DynamicCypherRetriever(store=store, model=ScriptedChatModel("I cannot."))
    (result,) = retriever.retrieve(Query("Who acted in Copper Kettle?")).results
    assert values(result) == ["Juhan Kask", "Liis Tamm"]


def test_a_plan_that_does_not_fit_the_schema_is_refused(store):
    target = CypherGraph(store, graph="films")
    link = target.schema().links[0]
    plans = [
        QueryPlan((PlanNode("Movie"),)),
        QueryPlan((PlanNode("Film"),), returned=Returned.VALUE, property="nothing"),
        QueryPlan((PlanNode("Film"), PlanNode("Person"))),
        QueryPlan((PlanNode("Film"), PlanNode("Person")), (PlanHop(1, 0, link),)),
        QueryPlan((PlanNode("Film"),), returned=Returned.MAXIMUM),
    ]
    for plan in plans:
        with pytest.raises(QueryRefused):
            target.write(plan)


def test_a_store_without_cypher_is_refused():
    with pytest.raises(MissingCapability, match="does not support Cypher"):
        DynamicCypherRetriever(store=MinimalStore())


@given(st.text(max_size=60))
def test_any_text_is_refused_or_makes_plans_that_run(text):
    store = film_store()
    target = CypherGraph(store, graph="films")
    asked = LinkedQuestion(text, target.schema(), find_mentions(text, target.values()))
    try:
        plans = assemble_plans(asked, SchemaLinker(target.schema()))
    except QueryRefused:  # the text has a negation or a number that no plan can express
        return
    for plan in plans:
        target.run(target.write(plan))


@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20))
def test_a_quoted_name_can_end_no_quotation(name):
    quoted = quote_name(name)
    assert quoted == name or quoted[1:-1].replace("``", "").count("`") == 0


def test_names_are_split_into_words():
    assert split_name("KNOWS_SN") == "knows sn"
    assert split_name("phoneNo") == "phone number"
    assert split_name("PhoneCall") == "phone call"
