"""The language of compositions: what it reads, how it refuses, what it builds."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._registry import Entry
from knotwork._retrieval.retriever_registry import (
    DEEPEST,
    RETRIEVERS,
    RetrieverCall,
    RetrieverPipeline,
    RetrieverSum,
    build_retriever,
    may_ask_model,
    may_rerank,
    parse_specification,
    show_specification,
)
from knotwork.errors import ConfigError, RetrievalError, UnknownName
from knotwork.records import Query

QUESTION = "Where did the director of Silver Lantern grow up?"


def test_a_sum_binds_closer_than_a_step():
    tree = parse_specification("rewrite > bm25 + 2*dense > prune(share=0.5)")
    before, core, behind = tree.stages
    assert (before.name, behind.name, behind.options) == ("rewrite", "prune", {"share": 0.5})
    assert isinstance(core, RetrieverSum)
    assert [(weight, part.name) for weight, part in core.parts] == [(1.0, "bm25"), (2.0, "dense")]


def test_values_have_types():
    (call,) = parse_specification("x(a=1, b=0.5, c=true, d=word, e='two words')").stages
    assert call.options == {"a": 1, "b": 0.5, "c": True, "d": "word", "e": "two words"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expected a retriever or a step"),
        ("bm25 +", "Expected a retriever or a step, at the end"),
        ("bm25 > > dense", "at character 8"),
        ("bm25(", "Expected a retriever or a step"),
        ("bm25)", "Expected the end"),
        ("(bm25", "Expected `\\)`"),
        ("bm25; drop", "Unexpected character, at character 5"),
        ("x(a=1, a=2)", "`a` is given twice"),
        ("x(a=)", "Expected a number"),
        ("0*bm25 + dense", "above 0"),
        ("2 bm25", "Expected `\\*`"),
        ("(" * (DEEPEST + 2), "Too many nested"),
        ("a" * 3000, "at most 2,000 are allowed"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text, reason):
    with pytest.raises(ConfigError, match=reason):
        parse_specification(text)


@given(st.text(alphabet="ab1.2>+*(),=\"' \n", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        tree = parse_specification(text)
    except ConfigError:
        return
    assert isinstance(tree, RetrieverPipeline)


names = st.sampled_from(["bm25", "dense", "graph", "top-down"])
values = st.one_of(st.integers(-9, 9), st.booleans(), st.sampled_from(["rank", "x y"]))
calls = st.builds(
    RetrieverCall,
    names,
    st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=2),
)


@given(
    st.lists(
        st.one_of(
            calls,
            st.lists(st.tuples(st.sampled_from([0.5, 2.0]), calls), min_size=2, max_size=3).map(
                lambda parts: RetrieverSum(tuple(parts))
            ),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_written_values_are_read_back(stages):
    written = show_specification(RetrieverPipeline(tuple(stages)))
    tree = parse_specification(written)
    assert show_specification(tree) == written
    assert [type(stage) for stage in tree.stages] == [type(stage) for stage in stages]


def test_evidence_and_its_parts_bear_the_names_of_their_specification(index, embedder):
    text = "(expand > bm25) + top_down(graph, lift=0.1)"
    evidence = build_retriever(f"{text} > prune", store=index, embedder=embedder).retrieve(
        Query(QUESTION)
    )
    assert evidence.retriever == f"{text} > prune"
    assert set(evidence.hits[0].scores) == {"expand > bm25", "top_down(graph, lift=0.1)"}


@pytest.mark.parametrize(
    "text",
    [
        "bm25 + dense",
        "fuse(bm25 + dense, by=rank, tokens=40)",
        "rewrite > decompose > graph > diversify > prune",
        "graph > sentence_window(size=0) > budget(tokens=60)",
        "top_down(bm25 + dense, lift=0.5)",
        "(expand > bm25) + (hyde > graph) > rerank",
        "2*auto + 0.5*bm25",
    ],
)
def test_compositions_answer(index, embedder, text):
    retriever = build_retriever(text, store=index, embedder=embedder)
    evidence = retriever.retrieve(Query(QUESTION, k=4))
    assert 0 < len(evidence.hits) <= 4
    assert evidence.query == Query(QUESTION, k=4)
    scores = [hit.score for hit in evidence.hits]
    assert scores == sorted(scores, reverse=True)
    assert evidence == retriever.retrieve(Query(QUESTION, k=4))


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("foo + bm25", UnknownName, "`bm25`"),
        ("bm25 > foo", UnknownName, "`rerank`"),
        ("bm25 > dense", ConfigError, "`dense` is a retriever.*character 8"),
        ("prune > bm25", ConfigError, "`prune` is a step and must be after"),
        ("bm25 > decompose > graph + dense", ConfigError, "with `\\+`"),
        ("decompose", ConfigError, "no retriever after `decompose`"),
        ("prune", ConfigError, "must be after a retriever"),
        ("sentence_window(size=1.5)", ConfigError, "must be a whole number"),
        ("sentence_window(sise=1)", UnknownName, "Did you mean `size`"),
        ("drill_down(level=high)", ConfigError, "must be a whole number"),
        ("cypher_templates(templates=3)", ConfigError, "must be a word"),
        ("bm25(graph)", ConfigError, "does not take a retriever"),
        ("graph > siblings(bm25)", ConfigError, "cannot take another"),
        ("auto(k=1)", ConfigError, "has no options"),
        ("fuse(by=rank)", ConfigError, "takes a sum"),
        ("fuse(bm25 + dense, by=magic)", UnknownName, "`rank`"),
        ("rewrite(by=model) > bm25", RetrievalError, "language model"),
        ("decompose > decompose > decompose > bm25", ConfigError, "up to 512 times"),
        ('bm25 > rerank(url="http://example.org")', UnknownName, "option of `rerank`"),
        ("bm25 > prune(share=2)", ConfigError, "from 0 to 1"),
    ],
)
def test_a_retriever_that_cannot_be_built_explains_why(index, embedder, text, error, reason):
    with pytest.raises(error, match=reason):
        build_retriever(text, store=index, embedder=embedder)


def test_options_that_may_be_left_open_or_are_paths_can_be_written(index, embedder, tmp_path):
    level = build_retriever("drill_down(level=0)", store=index, embedder=embedder)
    assert level.retrieve(Query(QUESTION, k=2)).hits
    file = tmp_path / "templates.toml"
    file.write_text(
        '[[template]]\nname = "all"\ndescription = "all names"\n'
        'statement = "MATCH (e:Entity) RETURN e.name"\n',
        "utf-8",
    )
    name = f"cypher_templates(templates='{file}')"
    assert build_retriever(name, store=index, embedder=embedder).retrieve(Query(QUESTION)).hits


def test_only_who_may_ask_gets_a_model(index, embedder):
    assert may_ask_model("rewrite(by=model) > bm25")
    assert may_ask_model("top_down(text_to_sql) + bm25")
    assert not may_ask_model("rewrite > bm25 + dense")
    assert not may_ask_model("cypher > bm25(graph='text_to_sql by model')")
    assert may_rerank("top_down(bm25 > rerank)")
    assert not may_rerank("bm25(graph='paths rerank')")
    with pytest.raises(ConfigError, match="Unexpected character"):
        may_ask_model("bm25 ; text_to_sql")
    model = ScriptedChatModel("Where did Marta Ilves grow up?")
    retriever = build_retriever(
        "rewrite(by=model) > bm25", store=index, embedder=embedder, model=model
    )
    assert retriever.retrieve(Query(QUESTION)).trace == (
        "Asked as: Where did Marta Ilves grow up?",
    )


def test_options_from_python_are_checked_like_a_specification(index):
    with pytest.raises(UnknownName, match="Did you mean `size`"):
        build_retriever("sentence_window", store=index, options={"sise": 1})
    with pytest.raises(ConfigError, match="must be a whole number"):
        build_retriever("sentence_window", store=index, options={"size": "wide"})


class FaultyRetriever:
    """A retriever whose constructor has a bug."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        size: int = 1

    def __init__(self, *, store, options=None):
        raise TypeError("a bug, not a wrong option")

    def retrieve(self, query):
        raise AssertionError


def test_a_bug_in_a_constructor_is_not_reported_as_a_wrong_option(index, monkeypatch):
    entry = Entry("faulty", f"{__name__}:FaultyRetriever", distribution="faults")
    monkeypatch.setitem(vars(RETRIEVERS), "_plugins", ({"faulty": entry}, {}))
    for options in ({}, {"size": 2}):
        with pytest.raises(TypeError, match="a bug"):
            build_retriever("faulty", store=index, options=options)
