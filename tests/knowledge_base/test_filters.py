"""Filters of a knowledge base: every retriever and every mode respects them."""

from __future__ import annotations

import pytest

import knotwork
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.retriever_registry import retriever_names
from knotwork._synthesis.ask_request import ASK_MODES
from knotwork.errors import FilterError, UnknownName

pytestmark = pytest.mark.slow


PEOPLE = ["Ada Lovelace", "Grace Hopper", "Marta Ilves", "Olev Raud", "Wang Xiaoming"]
PLACES = ["Tartu", "Narva", "Travel Office", "Silver Lantern", "Copper Kettle"]


def write_documents(folder) -> None:
    """Write documents of two authors that state the same of the same names, year by year."""
    for number in range(16):
        author = ("Ann Lee", "Bo Smith")[number % 2]
        one, other = PEOPLE[number % 5], PEOPLE[(number + 1) % 5]
        place = PLACES[number % 5]
        path = folder / ("hr" if author == "Ann Lee" else "it") / f"{number:02}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"---\nauthor: {author}\ndate: {2016 + number // 2}-03-01\n"
            f"tags: [report, {place.lower()}]\nversion: {number}\n---\n"
            f"# {one}\n\n{one} works for {place} with {other}. {other} was born in {place}.\n\n"
            f"## Budget\n\nThe budget of {place} is {number} thousand. {one} approves travel to "
            f"{place}. {one}批准出差。\n",
            "utf-8",
        )
    (folder / "prices.csv").write_text("item,price\nlantern,12\nkettle,30\n", "utf-8")


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    docs = folder / "docs"
    docs.mkdir()
    write_documents(docs)
    with knotwork.open(folder / "index.knot", embedder=HashingEmbedder(32)) as opened:
        opened.index(docs)
        opened.communities.update(rebuild=True)
        yield opened


QUESTIONS = (
    "Who works for the Travel Office with Ada Lovelace?",
    "What is the budget of Tartu?",
    "How many thousand is the budget of Copper Kettle?",
    "谁批准出差？",
    "How are Grace Hopper and Narva connected?",
    "nothing of that kind whatsoever",
)
COMPOSED = ("bm25 + dense", "decompose > graph > diversify", "hybrid > prune", "expand > bm25")


def uris_of(kb, evidence):
    """Return the documents that anything in the evidence comes from."""
    chunks = {hit.chunk.id for hit in evidence.hits}
    chunks |= {step.chunk_id for hit in evidence.hits for step in hit.path}
    chunks |= {hop.chunk_id for path in evidence.paths for hop in path.hops}
    known = kb.store.documents.chunks(chunks)
    ids = {chunk.document_id for chunk in known.values()}
    ids |= {hit.chunk.document_id for hit in evidence.hits}
    return {document.uri for document in kb.store.documents.documents(ids).values()}


@pytest.mark.parametrize("retriever", [*retriever_names(), *COMPOSED])
def test_no_retriever_returns_anything_outside(kb, retriever) -> None:
    found = 0
    for question in QUESTIONS:
        for filters in ("author = 'ann lee'", {"path": "hr", "date": {"gte": 2020}}):
            evidence = kb.search(question, retriever=retriever, filters=filters)
            uris = uris_of(kb, evidence)
            assert all(uri.startswith("docs/hr/") for uri in uris), (question, uris)
            if not isinstance(filters, str):
                assert uris <= {f"docs/hr/{n:02}.md" for n in (8, 10, 12, 14)}
            names = " ".join(str(row) for result in evidence.results for row in result.rows)
            assert "docs/it/" not in names
            found += len(evidence.hits)
    assert found > 0


@pytest.mark.parametrize("mode", ASK_MODES)
def test_no_answer_cites_anything_outside(kb, mode) -> None:
    answers = [
        kb.ask(question, mode=mode, filters="author = 'Bo Smith'", retriever="auto")
        for question in (*QUESTIONS, "What are the main themes?")
    ]
    cited = {citation.document for answer in answers for citation in answer.citations}
    assert cited
    assert all(uri.startswith("docs/it/") for uri in cited)


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid", "graph"])
def test_as_many_passages_come_as_are_asked_for(kb, retriever) -> None:
    allowed = sum(map(len, kb.store.documents.chunk_ids_of(_documents(kb, "docs/hr/")).values()))
    evidence = kb.search("works for budget", retriever=retriever, k=500, filters="path = hr")
    assert len(evidence.hits) == allowed
    few = kb.search("budget", retriever=retriever, k=3, filters="tags = narva and path = hr")
    assert len(few.hits) == min(3, len(few.hits)) > 0


def _documents(kb, prefix):
    held = kb.store.documents
    documents = held.documents(held.document_ids())
    return [key for key, document in documents.items() if document.uri.startswith(prefix)]


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_a_filter_leaves_the_order_and_the_scores_as_they_are(kb, retriever) -> None:
    every = kb.search("budget of Tartu", retriever=retriever, k=500)
    left = kb.search("budget of Tartu", retriever=retriever, k=500, filters="path = it")
    expected = [
        (hit.chunk.id, pytest.approx(hit.score))
        for hit in every.hits
        if hit.chunk.id in {h.chunk.id for h in left.hits}
    ]
    assert [(hit.chunk.id, hit.score) for hit in left.hits] == expected


def test_passages_below_the_least_score_are_left_out(kb) -> None:
    every = kb.search("budget of Tartu", retriever="bm25", k=20)
    middle = every.hits[len(every.hits) // 2].score
    kept = kb.search("budget of Tartu", retriever="bm25", k=20, min_score=middle)
    assert kept.hits == tuple(hit for hit in every.hits if hit.score >= middle)
    assert kept.query.min_score == middle
    assert kb.search("budget of Tartu", retriever="bm25", min_score=1e9).hits == ()
    assert not kb.ask("What is the budget of Tartu?", min_score=1e9).answered


def test_filters_of_all_forms_mean_the_same(kb) -> None:
    forms = [
        "author = 'Ann Lee' and date >= 2020",
        {"author": "Ann Lee", "date": {"$gte": "2020"}},
        {"$and": [{"author": {"$eq": "Ann Lee"}}, {"date": {"gte": 2020}}]},
        ["author=Ann Lee", "date>=2020"],
    ]
    found = [kb.search("budget", filters=form) for form in forms]
    assert len({tuple(hit.chunk.id for hit in evidence.hits) for evidence in found}) == 1
    assert len({evidence.query.filter for evidence in found}) == 1
    assert str(found[0].query.filter) == "author = 'Ann Lee' and date >= '2020'"


def test_a_filter_that_matches_nothing_is_reported(kb) -> None:
    evidence = kb.search("budget", filters="author = Zoe")
    assert evidence.hits == ()
    assert evidence.notes[0] == "No document matches the filter: author = 'Zoe'"
    answer = kb.ask("What is the budget of Tartu?", filters="author = Zoe")
    assert not answer.answered
    assert answer.citations == ()
    assert evidence.notes[0] in answer.notes


def test_fields_and_mistakes(kb) -> None:
    fields = {field.name: field for field in kb.fields()}
    assert {"author", "date", "tags", "version", "file_date", "path"} <= fields.keys()
    assert fields["author"].examples == ("Ann Lee", "Bo Smith")
    with pytest.raises(UnknownName, match=r"Did you mean .author"):
        kb.search("budget", filters="autor = Ann")
    for broken in (
        "author =",
        "author",
        "(author = x",
        "author = x and",
        "= x",
        "a in ()",
        "a ! b",
    ):
        with pytest.raises(FilterError):
            kb.search("budget", filters=broken)
        with pytest.raises(FilterError):
            kb.ask("budget", filters=broken)


def test_a_filter_follows_the_documents(tmp_path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("---\nauthor: Ann\n---\nThe fox sleeps in the barn.\n", "utf-8")
    with knotwork.open("memory:", embedder=HashingEmbedder(16)) as kb:
        kb.index(docs)
        assert len(kb.search("fox", filters="author = Ann").hits) == 1
        (docs / "a.md").write_text("---\nauthor: Bo\n---\nThe fox sleeps in the barn.\n", "utf-8")
        (docs / "b.md").write_text("---\nauthor: Bo\n---\nA fox runs in the woods.\n", "utf-8")
        kb.index(docs)
        assert kb.search("fox", filters="author = Ann").hits == ()
        assert len(kb.search("fox", filters="author = Bo").hits) == 2


def test_a_question_restricts_the_search_where_it_says_so_of_documents(kb) -> None:
    asked = "What is the budget of Tartu, according to reports published since 2020?"
    evidence = kb.search(asked, k=50)
    assert str(evidence.query.filter) == "date >= '2020'"
    assert {int(uri[-5:-3]) >= 8 for uri in uris_of(kb, evidence)} == {True}
    (note,) = evidence.notes
    assert note == (
        "Only documents with date >= '2020' were searched, as the question says "
        "“reports published since 2020”."
    )
    assert note in kb.ask(asked).notes
    versions = kb.search("What is the budget since version 14?", k=50)
    assert {uri[-5:-3] for uri in uris_of(kb, versions)} == {"14", "15"}


@pytest.mark.parametrize(
    "question",
    [
        "What was the budget of Tartu in 2020?",
        "What is the budget of Tartu in reports from 1987?",
    ],
)
def test_it_does_not_where_it_may_mean_something_else_or_nothing_is_left(kb, question) -> None:
    evidence = kb.search(question, k=50)
    assert evidence.query.filter is None
    assert evidence.notes == ()


def test_a_question_is_not_read_beside_a_filter_or_where_that_is_off(tmp_path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    write_documents(docs)
    question = "What is the budget in reports from 2020?"
    with knotwork.open("memory:", embedding_model="none", retrieval_read_filters=False) as kb:
        kb.index(docs)
        assert kb.search(question).query.filter is None
        assert str(kb.search(question, filters="path = hr").query.filter) == "path = 'hr'"


def test_documents_without_dates_are_never_left_out_by_a_question(tmp_path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(5):
        (docs / f"{number}.md").write_text(f"The budget of report {number} is fine.\n", "utf-8")
    (docs / "dated.md").write_text("---\ndate: 2020-01-01\n---\nThe budget is 12.\n", "utf-8")
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index(docs)
        evidence = kb.search("What is the budget in reports from 2020?", k=50)
        assert (len(evidence.hits), evidence.query.filter) == (6, None)
