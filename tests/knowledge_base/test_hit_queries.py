"""A user's Cypher over the hits of a search: its rows, chunks, limits and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cypher.hostile import writes
from tests.knowledge_base.test_filters import write_documents

import knotwork
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._synthesis.ask_request import ASK_MODES
from knotwork.errors import ConfigError, QueryRefused, QuerySyntaxError
from knotwork.records import RETRIEVAL_QUERY

pytestmark = pytest.mark.slow


QUESTION = "Who works for the Travel Office with Ada Lovelace?"
HITS = "RETURN node.id AS id, score"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hits")
    docs = folder / "docs"
    docs.mkdir()
    write_documents(docs)
    with knotwork.open(folder / "index.knot", embedder=HashingEmbedder(32)) as opened:
        opened.index(docs)
    return folder / "index.knot"


@pytest.fixture(scope="module")
def kb(path):
    with knotwork.open(path, embedder=HashingEmbedder(32)) as opened:
        yield opened


@pytest.mark.parametrize(
    "retriever", ["auto", "bm25", "dense", "graph", "paths", "sentence_window"]
)
def test_the_statement_starts_from_the_hits_best_first(kb, retriever):
    evidence = kb.search(QUESTION, retriever=retriever, k=5, retrieval_query=HITS)
    (result,) = (r for r in evidence.results if r.source == RETRIEVAL_QUERY)
    assert result.rows == tuple((hit.chunk.id, hit.score) for hit in evidence.hits)
    assert evidence.hits == kb.search(QUESTION, retriever=retriever, k=5).hits
    assert result.statement == HITS
    assert result.parameters == {}


def test_the_question_and_parameters_are_values(kb):
    evidence = kb.search(
        QUESTION,
        k=1,
        retrieval_query="RETURN $question AS q, $least AS least, score >= $least AS kept",
        query_params={"least": 0.0, "hit": "not of the statement"},
    )
    assert evidence.results[-1].rows == ((QUESTION, 0.0, True),)


def test_rows_are_counted_over_all_hits(kb):
    statement = "MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name AS name, count(*) AS n"
    evidence = kb.search(QUESTION, k=6, retrieval_query=f"{statement} ORDER BY n DESC, name")
    expected: dict[str, int] = {}
    mentions = kb.store.graph.mentions([hit.chunk.id for hit in evidence.hits])
    for found in mentions.values():
        for entity in kb.store.graph.entities({m.entity_id for m in found}).values():
            if not entity.is_keyword:
                expected[entity.name] = expected.get(entity.name, 0) + 1
    assert dict(evidence.results[-1].rows) == expected
    assert expected


@given(
    k=st.integers(1, 6),
    ending=st.sampled_from(
        [
            "RETURN other",
            "RETURN other, score",
            "RETURN collect(other) AS all",
            "RETURN {inner: [other]} AS map, score / 2 AS score",
            "RETURN other, 'high' AS score",
        ]
    ),
)
def test_chunks_in_rows_become_hits_and_no_hit_is_lost(kb, k, ending):
    plain = kb.search(QUESTION, k=k)
    statement = f"MATCH (node)<-[:HAS_CHUNK]-(:Section)-[*0..2]-(:Section)-->(other:Chunk) {ending}"
    evidence = kb.search(QUESTION, k=k, retrieval_query=statement)
    found = {hit.chunk.id: hit for hit in evidence.hits}
    assert len(found) == len(evidence.hits)
    assert len(found) <= 2 * k
    for hit in plain.hits:
        assert found.pop(hit.chunk.id) == hit
    least = min(hit.score for hit in plain.hits)
    for hit in found.values():
        assert hit.scores == {RETRIEVAL_QUERY: hit.score}
        assert hit.sentences
        if ending in ("RETURN other", "RETURN other, 'high' AS score"):
            assert hit.score == least
    assert [(-hit.score, hit.chunk.id) for hit in evidence.hits] == sorted(
        (-hit.score, hit.chunk.id) for hit in evidence.hits
    )


def test_rows_lack_what_a_filter_excludes(kb):
    statement = "MATCH (node)-[:MENTIONS]->(e)<-[:MENTIONS]-(c:Chunk) RETURN DISTINCT c.document"
    every = kb.search(QUESTION, retrieval_query=statement)
    kept = kb.search(QUESTION, retrieval_query=statement, filters={"author": "Ann Lee"})
    documents = kb.store.documents.documents({row[0] for row in kept.results[-1].rows})
    assert documents
    assert all("/hr/" in document.uri for document in documents.values())
    assert {row[0] for row in every.results[-1].rows} > set(documents)


def test_rows_are_limited_and_say_so(kb):
    evidence = kb.search(QUESTION, retrieval_query="UNWIND range(1, 500) AS n RETURN n")
    assert len(evidence.results[-1].rows) == 1_000
    assert evidence.results[-1].truncated


def test_nothing_found_is_no_row(kb):
    evidence = kb.search(QUESTION, min_score=1e9, retrieval_query=HITS)
    assert evidence.hits == ()
    assert evidence.results[-1].rows == ()


@pytest.mark.parametrize(
    ("statement", "kind", "told"),
    [
        ("MATCH (node)\nRETURN node.", QuerySyntaxError, "line 2, column 12"),
        ("RETURN nodes.name", QuerySyntaxError, "Variables in scope: `node`, `score`"),
        ("node", QuerySyntaxError, "Expected a clause"),
        ("MATCH (node) SET node.name = 1 RETURN node", QueryRefused, "`SET` changes the graph"),
        ("RETURN $absent", QuerySyntaxError, "$absent"),
        ("RETURN node UNION RETURN score", QuerySyntaxError, "Unknown variable `score`"),
    ],
)
def test_an_error_says_which_statement_and_where(kb, statement, kind, told):
    for ask in (kb.search, kb.ask):
        with pytest.raises(kind) as raised:
            ask(QUESTION, retrieval_query=statement)
        assert raised.value.message.startswith("In the retrieval query: ")
        assert told in raised.value.message
        assert raised.value.fix


def test_parameters_without_a_statement_are_a_mistake(kb):
    for statement in (None, "", " \n"):
        with pytest.raises(ConfigError, match=r"\$year"):
            kb.search(QUESTION, retrieval_query=statement, query_params={"year": 2020})


def test_statements_that_write_are_refused(kb):
    before = kb.store.generation()
    for statement in writes():
        with pytest.raises((QueryRefused, QuerySyntaxError)):
            kb.search(QUESTION, k=1, retrieval_query=statement)
    assert kb.store.generation() == before


def test_an_answer_has_the_rows_beside_its_sentences(kb):
    plain = kb.ask(QUESTION)
    answer = kb.ask(QUESTION, retrieval_query="RETURN count(node) AS passages")
    assert answer.text == plain.text
    assert answer.citations == plain.citations
    (result,) = answer.results
    assert (result.columns, result.source) == (("passages",), RETRIEVAL_QUERY)
    assert result.rows[0][0] > 0


@pytest.mark.parametrize("mode", ASK_MODES)
@pytest.mark.parametrize("question", [QUESTION, "Summarize the documents.", "谁批准出差？"])
def test_every_answer_has_the_rows(kb, mode, question):
    answer = kb.ask(question, mode=mode, retrieval_query="RETURN count(node) AS passages")
    (result,) = (r for r in answer.results if r.source == RETRIEVAL_QUERY)
    assert answer.results[-1] is result
    assert len(result.rows) == 1


@pytest.mark.parametrize("mode", ["basic", "local"])
def test_a_model_reads_the_rows(path, mode):
    model = ScriptedChatModel(lambda request: "Ada Lovelace works for it. [1]")
    statement = "RETURN 'the ferry to ' + $to AS way, count(*) AS passages"
    with knotwork.open(path, embedder=HashingEmbedder(32), chat_model=model) as kb:
        answer = kb.ask(
            QUESTION, mode=mode, retrieval_query=statement, query_params={"to": "Narva"}
        )
    told = "\n".join(message.content for message in model.requests[-1].messages)
    assert "way: the ferry to Narva; passages: " in told
    assert answer.results[-1].source == RETRIEVAL_QUERY
    assert answer.model


def test_equal_questions_have_equal_evidence(kb):
    one, other = (kb.search(QUESTION, retrieval_query=HITS) for _ in range(2))
    assert one == other
