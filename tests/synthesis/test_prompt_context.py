"""Evidence is packed by worth, in reading order, and never beyond its budget."""

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st
from tests.synthesis.written import TEXTS, chunk_of, make_evidence

from knotwork._extensions.testing.brains.prompts import read_assignment
from knotwork._inference.prompt_material import disarm, escape_passage
from knotwork._retrieval.query_rows import ROWS_SCORE
from knotwork._synthesis.answer_writer import make_answer_request
from knotwork._synthesis.messages import fill_prompt
from knotwork._synthesis.prompt_context import pack_evidence
from knotwork._text.token_counts import count_tokens
from knotwork.records import RETRIEVAL_QUERY, Document, Evidence, Hit, Query, QueryResult


def test_passages_are_numbered_by_hit_and_read_in_order():
    evidence, _ = make_evidence()
    passages = pack_evidence(evidence, budget_tokens=1_000)
    assert [passage.text for passage in passages] == [
        f"[{number}] {title}\n{text}" for number, (title, text) in enumerate(TEXTS.items(), 1)
    ]
    assert all(list(p.spans) == sorted(p.spans) for p in passages)


@given(
    budget=st.integers(0, 200),
    scores=st.lists(st.floats(0, 2), min_size=3, max_size=3),
    relevance=st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_the_budget_holds_whatever_the_scores(budget, scores, relevance):
    evidence, _ = make_evidence()
    hits = [
        replace(
            hit,
            score=score,
            sentences=tuple(
                (span, value) for (span, _), value in zip(hit.sentences, relevance, strict=False)
            ),
        )
        for hit, score in zip(evidence.hits, scores, strict=True)
    ]
    passages = pack_evidence(replace(evidence, hits=tuple(hits)), budget_tokens=budget)
    assert sum(count_tokens(passage.text) for passage in passages) <= budget
    assert [passage.number for passage in passages] == list(range(1, len(passages) + 1))
    for passage in passages:
        assert passage.spans
        assert set(passage.spans) <= set(passage.chunk.sentences)


def test_under_a_small_budget_the_best_sentence_and_its_neighbours_stay():
    text = " ".join(f"Sentence number {n} speaks of nothing much." for n in range(9))
    chunk = chunk_of(Document(uri="a.txt", title="A", text=text))
    hit = Hit(chunk, 1.0, sentences=((chunk.sentences[4], 0.8),))
    evidence = Evidence(Query("q"), "auto", (hit,), 1.0)
    one = count_tokens(chunk.sentence_text(0)) + 1
    (passage,) = pack_evidence(evidence, budget_tokens=3 * one + count_tokens("[1] A | "))
    assert passage.spans == chunk.sentences[3:6]
    (whole,) = pack_evidence(evidence, budget_tokens=4 * one + count_tokens("[1] A | "))
    assert whole.spans == (chunk.sentences[0], *chunk.sentences[3:6])
    assert "nothing much. … Sentence" in whole.text


def test_a_copy_of_a_document_is_not_read_twice():
    text = TEXTS["Travel"]
    evidence, _ = make_evidence(texts={"Travel": text, "Copy of travel": text.upper()})
    (passage,) = pack_evidence(evidence, budget_tokens=1_000)
    assert passage.chunk.document_title == "Travel"


def test_a_chunk_without_sentences_counts_as_one():
    chunk = replace(chunk_of(Document(uri="a", title="", text="No stop at all")), sentences=())
    evidence = Evidence(Query("q"), "auto", (Hit(chunk, -1.0),), 1.0)
    (passage,) = pack_evidence(evidence, budget_tokens=100)
    assert (passage.text, passage.spans) == ("[1]\nNo stop at all", (chunk.span,))


def test_titles_are_in_the_line_once_and_cannot_break_it():
    document = Document(uri="a", title="Hand|book", text="Hand|book\n\nAsk the office first.")
    chunk = chunk_of(document, headings=("Hand|book", "Trips\nabroad [3]"))
    evidence = Evidence(Query("q"), "auto", (Hit(chunk, 1.0),), 1.0)
    (passage,) = pack_evidence(evidence, budget_tokens=100)
    assert passage.text == "[1] Hand|book > Trips abroad (3)\nAsk the office first."


@example("<s>")
@given(st.text(alphabet="[]<>/ \n12context question", max_size=60))
def test_no_document_forges_what_a_prompt_is_made_of(text):
    harmless = disarm(escape_passage(text))  # as each part of a prompt is shown
    found = read_assignment(fill_prompt("answer", "en", _blanks(context=f"a {harmless} b")))
    assert found.sections["context"] == f"a {harmless} b"
    assert "[1]" not in harmless


def _blanks(**given):
    return {"context": "C", "question": "Q", "unknown": "U", **given}


def test_values_filled_into_a_prompt_are_not_filled_in_again():
    system, user = fill_prompt("answer", "en", _blanks(context="{question}", question="{unknown}"))
    assert "<context>\n{question}\n</context>" in user.content
    assert "<question>\n{unknown}\n</question>" in user.content
    assert system.content.endswith("\nU")


def test_the_prompt_is_in_the_language_of_the_question():
    passages = pack_evidence(make_evidence()[0], budget_tokens=1_000)
    for question, language in (
        ("Who approves trips abroad?", "en"),
        ("谁审批海外出差？", "zh"),
        ("Wer genehmigt die Reisen in das Ausland?", "en"),
    ):
        request = make_answer_request(question, passages)
        assignment = read_assignment(request.messages)
        assert assignment.task == "answer"
        assert assignment.question == question
        assert assignment.sections["context"].startswith("[1] Travel\nTrips abroad")
        expected = fill_prompt("answer", language, _blanks())[0].content
        assert request.messages[0].content[:200] == expected[:200]


def test_instructions_cost_little_beside_the_passages():
    for language, sentence in (("en", "No."), ("zh", "无。")):
        messages = fill_prompt("answer", language, _blanks(unknown=sentence))
        assert sum(count_tokens(message.content) for message in messages) < 400


@given(budget=st.integers(0, 300), size=st.integers(0, 60), leads=st.booleans())
def test_rows_of_the_users_own_query_come_with_the_first_passage(budget, size, leads):
    evidence, _ = make_evidence()
    own = QueryResult(
        "cypher",
        "RETURN ...",
        ("name", "way"),
        tuple((f"[{n}]", "by <context> ferry") for n in range(size)),
        source=RETRIEVAL_QUERY,
    )
    leading = replace(own, rows=(("Ada",),), columns=("name",), source="x", confidence=0.9)
    hits = [replace(hit, scores={ROWS_SCORE: 1.0} if leads else {}) for hit in evidence.hits]
    results = (leading, own) if leads else (own,)
    evidence = replace(evidence, hits=tuple(hits), results=results)
    passages = pack_evidence(evidence, budget_tokens=budget)
    assert sum(count_tokens(passage.text) for passage in passages) <= budget
    assert all("by ‹context> ferry" not in passage.text for passage in passages[1:])
    if budget == 300 and size:
        assert "name: (0); way: by ‹context> ferry" in passages[0].text
