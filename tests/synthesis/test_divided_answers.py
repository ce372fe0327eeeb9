"""Answers to compound questions: one sentence a part, in order, with a message for each gap."""

import dataclasses

import pytest
from tests.synthesis.asked import check_citations

import knotwork
from knotwork._config import AnswerSettings
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._questions.reading import SubQuestion
from knotwork._run import Stage
from knotwork._synthesis.ask_request import ScopedSearcher
from knotwork._synthesis.divided_answers import AnsweredPart, join_answers, join_evidence
from knotwork.records import Answer, Citation, Document, Evidence, Hit, Query, Span

HARBOUR = """# The harbour

The harbour office opens at seven. Ilse Tarrant leads the harbour office since 2019.

The lighthouse was designed by Bram Ostrand in 1871. Its lamp is green.
"""
TRAVEL = """# Travel policy

Trips abroad are approved by the Travel Office. A hotel may cost 120 crowns a night.

A lease lasts ten years.

A licence ends after each season.
"""
KITCHEN = """# The kitchen

The kitchen serves fish on every day of the week except Monday. The cook is Dario Fenn.
"""
CHINESE = """# 差旅管理办法

出差由部门主管审批。住宿费每晚不超过四百五十元。

红灯表示停止作业。

绿灯表示可以进港。
"""
TWO = "Who designed the lighthouse, and who approves trips abroad?"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "parts.knot"
    texts = {"harbour": HARBOUR, "travel": TRAVEL, "kitchen": KITCHEN, "chinese": CHINESE}
    with knotwork.open(path, embedding_model="none") as base:
        base.index_documents([Document(f"{name}.md", text) for name, text in texts.items()])
    return path


@pytest.fixture
def base(path):
    with knotwork.open(path, embedding_model="none", read_only=True) as opened:
        yield opened


def quotes(answer):
    return [citation.quote for citation in answer.citations]


def test_each_part_has_its_paragraph_in_the_order_of_the_question(base):
    answer = base.ask(TWO)
    check_citations(base, answer)
    assert answer.answered
    assert quotes(answer) == [
        "The lighthouse was designed by Bram Ostrand in 1871. Its lamp is green.",
        "Trips abroad are approved by the Travel Office. A hotel may cost 120 crowns a night.",
    ]
    turned = base.ask("Who approves trips abroad, and who designed the lighthouse?")
    assert quotes(turned) == quotes(answer)[::-1]


def test_chinese_parts(base):
    answer = base.ask("红灯和绿灯分别表示什么？")
    check_citations(base, answer)
    assert quotes(answer) == ["红灯表示停止作业。", "绿灯表示可以进港。"]
    assert answer.text == "红灯表示停止作业。[1]\n\n绿灯表示可以进港。[2]"
    assert [piece.citation for piece in answer.pieces] == [1, 2]


def test_marks_in_the_text_of_a_piece_stay_as_they_are(tmp_path):
    text = "The first lamp is `lamps[0]`, a red one.\n\nThe spare fuse is kept in drawer [7]."
    with knotwork.open(tmp_path / "code.knot", embedding_model="none") as base:
        base.index_documents([Document("lamps.md", text), Document("travel.md", TRAVEL)])
        answer = base.ask("Which lamp is the first lamp, and where is the spare fuse kept?")
        assert "lamps[0]" in answer.text
        assert "drawer [7]. [2]" in answer.text
        assert [piece.markdown for piece in answer.pieces] == answer.text.split("\n\n")


def test_the_answer_says_how_the_question_was_read(base):
    (note,) = base.ask(TWO).notes
    assert note == "Answered in parts: Who designed the lighthouse? / Who approves trips abroad?"


def test_a_part_that_nothing_answers_is_named(base):
    answer = base.ask("Who designed the lighthouse, and which parliament ratified zebra treaties?")
    assert answer.answered
    assert quotes(answer) == [
        "The lighthouse was designed by Bram Ostrand in 1871. Its lamp is green."
    ]
    assert answer.text.endswith(
        "No passage was found that clearly answers “Which parliament ratified zebra treaties?”"
    )
    assert answer.confidence < base.ask("Who designed the lighthouse?").confidence / 2


def test_without_any_part_the_whole_question_is_refused(base):
    answer = base.ask("Which parliament ratified zebra treaties, and who cloned the mammoth?")
    assert not answer.answered
    assert answer.reason
    assert "[1]" not in answer.text


def test_a_sentence_that_compares_answers_by_itself(tmp_path):
    text = "A lease differs from a licence: a lease gives possession, a licence gives access."
    with knotwork.open(tmp_path / "law.knot", embedding_model="none") as base:
        base.index_documents([Document("law.md", text), Document("travel.md", TRAVEL)])
        answer = base.ask("What is the difference between a lease and a licence?")
        assert quotes(answer)[0] == text
        assert not answer.notes


def test_comparisons_absent_from_the_texts_are_answered_for_each_side(base):
    answer = base.ask("How does a lease differ from a licence?")
    assert answer.citations
    assert {"A lease lasts ten years.", "A licence ends after each season."} == set(quotes(answer))


def test_a_question_for_one_thing_is_searched_for_once(base, monkeypatch):
    asked = count_searches(monkeypatch)
    base.ask("Who designed the lighthouse?")
    assert asked == ["Who designed the lighthouse?"]


def test_each_part_costs_one_more_search(base, monkeypatch):
    asked = count_searches(monkeypatch)
    base.ask(TWO)
    assert asked == [TWO, "Who designed the lighthouse?", "Who approves trips abroad?"]


def count_searches(monkeypatch):
    asked = []
    search = ScopedSearcher.search

    def record(searcher, text):
        asked.append(text)
        return search(searcher, text)

    monkeypatch.setattr(ScopedSearcher, "search", record)
    return asked


def test_the_passages_of_all_parts_are_evidence(base):
    *_, shown, _ = base.ask.run(TWO, k=2)
    assert shown.stage is Stage.FOUND
    first, second = sorted(hit.chunk.text for hit in shown.value.hits)
    assert "designed by Bram Ostrand" in first
    assert "approved by the Travel Office" in second


def test_a_model_reads_the_passages_of_all_parts(path):
    model = ScriptedChatModel(["Bram Ostrand did [1]."])
    with knotwork.open(path, embedding_model="none", chat_model=model, read_only=True) as base:
        base.ask(TWO, k=2)
    (request,) = model.requests
    prompt = "\n".join(message.content for message in request.messages)
    assert "designed by Bram Ostrand" in prompt
    assert "approved by the Travel Office" in prompt


def make_part(asked, *spans, confidence, answered=True):
    citations = tuple(
        Citation(number, "d.md", "", "", "", span, f"S{span.start}.", "c", 1.0)
        for number, span in enumerate(spans, start=1)
    )
    text = " ".join(f"S{c.span.start}. [{c.number}]" for c in citations)
    evidence = Evidence(Query(asked), "auto")
    answer = Answer(asked, text, answered, citations, confidence=confidence)
    return AnsweredPart(SubQuestion(asked, asked), evidence, answer)


def test_an_answer_is_right_if_all_parts_are():
    joined = join_answers(
        "Q",
        [
            make_part("A?", Span(0, 3), confidence=0.8),
            make_part("B?", Span(10, 13), Span(20, 23), confidence=0.5),
        ],
    )
    assert joined.confidence == pytest.approx(0.4)
    assert joined.text == "S0. [1]\n\nS10. [2] S20. [3]"
    assert [(c.number, c.span.start) for c in joined.citations] == [(1, 0), (2, 10), (3, 20)]


def test_one_sentence_for_two_parts_is_printed_and_counted_once():
    joined = join_answers(
        "Q",
        [
            make_part("A?", Span(0, 3), confidence=0.8),
            make_part("B?", Span(0, 3), confidence=0.5),
        ],
    )
    assert (joined.text, joined.confidence) == ("S0. [1]", 0.5)
    assert len(joined.citations) == 1


def test_an_unanswered_part_lowers_the_confidence_and_is_not_cited():
    joined = join_answers(
        "Q",
        [
            make_part("A?", Span(0, 3), confidence=0.1, answered=False),
            make_part("B?", Span(9, 12), confidence=0.5),
        ],
    )
    assert joined.answered
    assert joined.confidence == pytest.approx(0.05)
    assert joined.text == "No passage was found that clearly answers “A?”\n\nS9. [1]"


def test_joined_evidence_is_ranked_and_no_larger(base):
    whole = base.search(TWO, k=3)
    parts = [base.search(text, k=3) for text in ("Who designed the lighthouse?", "The cook?")]
    joined = join_evidence(whole, parts)
    scores = [hit.score for hit in joined.hits]
    assert len(joined.hits) == 3
    assert scores == sorted(scores, reverse=True)
    assert {part.hits[0].chunk.id for part in parts} <= {hit.chunk.id for hit in joined.hits}
    for hit in joined.hits:
        assert sum(hit.scores.values()) == pytest.approx(hit.score)
    assert len({hit.chunk.id for hit in joined.hits}) == len(joined.hits)


def test_parts_without_hits_change_nothing(base):
    whole = base.search(TWO, k=3)
    nothing = Evidence(Query("?"), "auto")
    assert join_evidence(whole, [nothing]) == whole
    only = join_evidence(dataclasses.replace(whole, hits=()), [whole])
    assert [hit.chunk for hit in only.hits] == [hit.chunk for hit in whole.hits]
    assert all(isinstance(hit, Hit) for hit in only.hits)


def test_a_conversation_is_understood_before_the_question_is_divided(base):
    turns = [("Who designed the lighthouse?", "Bram Ostrand designed the lighthouse.")]
    answer = base.ask(
        "When did he design it, and who approves trips abroad?",
        turns=turns,
    )
    assert "Trips abroad are approved by the Travel Office." in answer.text


def test_max_sentences_is_for_each_question_alone(path):
    settings = {"answer_max_sentences": 1}
    with knotwork.open(path, embedding_model="none", read_only=True, **settings) as base:
        assert base.settings.answer == AnswerSettings(max_sentences=1)
        assert len(base.ask(TWO).citations) == 2
