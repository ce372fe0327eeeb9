"""Questions of each kind and mode are answered with exact citations, or refused."""

import pytest

import knotwork
from knotwork.records import Document

pytestmark = pytest.mark.slow


def check_citations(kb, answer):
    """Each citation is a place in a document, and its number is in the text."""
    assert answer.citations
    for number, citation in enumerate(answer.citations, start=1):
        start, end = citation.span
        assert kb.document(citation.document).text[start:end] == citation.quote
        assert citation.number == number
        if answer.answered:
            assert f"[{number}]" in answer.text


@pytest.mark.parametrize(
    ("question", "words", "document"),
    [
        ("Who approves trips abroad?", "Travel Office", "en/travel-policy.docx"),
        ("What may a hotel cost per night?", "140 crowns", "en/travel-policy.docx"),
        ("Where was Oriane Keld born?", "Tarnby", "en/oriane-keld.txt"),
        ("海外出差由谁审批？", "办事处主任", "zh/差旅管理办法.md"),
        ("探头的校准周期是多久？", "六个月", "more/仪器手册.md"),
        ("Who approves large orders?", "Dario Fenn", "more/handbook.md"),
    ],
)
def test_a_fact_is_answered_and_cited(kb, question, words, document):
    answer = kb.ask(question)
    assert answer.answered
    assert words in answer.text
    assert f"papers/{document}" in [citation.document for citation in answer.citations]
    assert answer.strength in {"strong", "weak"}
    assert (answer.model, answer.mode, answer.reason) == ("", "basic", "")
    check_citations(kb, answer)


def test_a_cell_of_a_table_is_found_and_is_the_short_answer(kb):
    answer = kb.ask("Who manages Petra Oyelund?")
    assert answer.short == "Oriane Keld"
    assert "| Petra Oyelund | workshop foreman |" in answer.text
    (result,) = answer.results
    assert (result.language, result.columns) == ("sql", ("manager",))
    assert [tuple(row) for row in result.rows] == [("Oriane Keld",)]
    assert result.row_sources[0].document == "papers/en/staff.csv"
    check_citations(kb, answer)


def test_a_list_of_steps_is_quoted_whole(kb):
    answer = kb.ask("What are the steps to order a part?")
    for step in ("Ask the workshop", "Fill in the blue form", "Send the form to Dario Fenn"):
        assert step in answer.text
    assert "list" in {piece.kind for piece in answer.pieces}


@pytest.mark.parametrize(
    "question", ["Who is the mayor of Corvane?", "月球上的火山是什么时候喷发的？"]
)
def test_unanswerable_questions_are_refused(kb, question):
    answer = kb.ask(question)
    assert not answer.answered
    assert answer.reason in {"low_confidence", "no_evidence"}
    assert answer.strength == "none"
    assert not answer.pieces


def test_a_question_of_two_parts_has_both_answers(kb):
    answer = kb.ask("Who approves trips abroad, and what may a hotel cost per night?")
    assert "Travel Office" in answer.text
    assert "140 crowns" in answer.text
    assert any(note.startswith("Answered in parts: ") for note in answer.notes)
    check_citations(kb, answer)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What are the documents about?", "**Travel policy**"),
        ("List all documents", "28 documents:"),
        ("How many documents mention Skarrow?", "of 28 in all"),
        ("Which people are mentioned most often?", "温青岚"),
        ("Summarize travel-policy.docx", "**Travel policy**"),
        ("总结一下差旅管理办法", "差旅管理办法"),
    ],
)
def test_a_question_about_the_whole_is_answered_by_an_overview(kb, question, words):
    answer = kb.ask(question)
    assert answer.answered
    assert words in answer.text
    assert answer.mode == "global"
    assert answer.confidence is None
    check_citations(kb, answer)


@pytest.mark.parametrize("mode", ["basic", "local", "hybrid", "drift"])
def test_each_mode_of_passages_answers_a_fact(kb, mode):
    answer = kb.ask("Who approves trips abroad?", mode=mode)
    assert answer.mode == mode
    assert "Travel Office" in answer.text
    check_citations(kb, answer)


@pytest.mark.parametrize("mode", ["global", "map-reduce"])
def test_each_mode_of_reports_answers_by_theme(kb, mode):
    answer = kb.ask("What is said about buoys?", mode=mode)
    assert answer.mode == mode
    assert answer.answered
    check_citations(kb, answer)


def test_an_unknown_mode_is_refused_with_the_known_ones(kb):
    with pytest.raises(knotwork.KnotworkError, match=r"map-reduce"):
        kb.ask("Who?", mode="sideways")


def test_two_papers_that_disagree_are_both_told_and_a_year_decides(kb):
    (conflict,) = [c for c in kb.graph.conflicts() if "fee" in str(c)]
    assert [(claim.value, claim.date) for claim in conflict.claims] == [
        ("35 euros", "2024"),
        ("30 euros", "2022"),
    ]
    now = kb.ask("What is the annual mooring fee?")
    assert now.text.index("35 euros") < now.text.index("30 euros")
    then = kb.ask("What was the annual mooring fee in 2022?")
    assert "30 euros" in then.text
    assert "35 euros" not in then.text.split("[1]")[0]


def test_a_follow_up_is_understood_with_the_turns_before_it(kb):
    turns = [("Who designed the Kestrel probe?", "It was designed by Oriane Keld in 2016.")]
    answer = kb.ask("Where was she born?", turns=turns)
    assert "Understood as: Where was Oriane Keld born?" in answer.notes
    assert "Tarnby" in answer.text


def test_the_text_of_steps_equals_the_answer(kb):
    run = kb.ask.run("Who approves trips abroad?")
    steps = {step.stage: step.value for step in run}
    assert list(steps)[-1] == "finished"
    found = steps["found"]
    answer = kb.ask("Who approves trips abroad?")
    assert run.result().text == answer.text
    assert answer.citations[0].chunk_id in [hit.chunk.id for hit in found.hits]


def test_an_answer_over_cypher_has_its_rows(kb):
    answer = kb.ask(
        "Who approves trips abroad?",
        retrieval_query="MATCH (node)-[:MENTIONS]->(e:Entity) WHERE e.name CONTAINS $part "
        "RETURN DISTINCT e.name AS name",
        query_params={"part": "Travel"},
    )
    result = answer.results[-1]
    assert result.source == "retrieval_query"
    assert result.columns == ("name",)
    assert ("Travel Office",) in [tuple(row) for row in result.rows]


def test_an_empty_index_says_that_it_has_no_evidence(tmp_path):
    with knotwork.open(tmp_path / "empty.knot") as base:
        answer = base.ask("Who approves trips abroad?")
        assert (answer.answered, answer.reason) == (False, "no_evidence")
        base.index_documents([Document("a.txt", "The Travel Office approves trips abroad.")])
        assert base.ask("Who approves trips abroad?").answered


def test_a_closed_index_and_an_index_opened_to_read_refuse_changes(own_index):
    with knotwork.open(own_index, read_only=True) as base, pytest.raises(knotwork.KnotworkError):
        base.index_documents([Document("a.txt", "New.")])
    with pytest.raises(knotwork.KnotworkError):
        base.search("anything")
