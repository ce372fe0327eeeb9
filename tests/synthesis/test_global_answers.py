"""An overview without a model: themes with cited statements, or a message that nothing matches."""

from types import SimpleNamespace

from tests.synthesis.asked import check_citations
from tests.synthesis.test_contexts import CHUNKS, EVIDENCE, STORE, make_report, support

from knotwork._config import AnswerSettings
from knotwork._synthesis.ask_request import AskMode, CommunityReports, Inquiry
from knotwork._synthesis.extractive_answers import LOW_CONFIDENCE, NO_EVIDENCE
from knotwork._synthesis.messages import no_match, not_clear
from knotwork._synthesis.mode_answers import answer_from_themes, covered_share
from knotwork._synthesis.overviews import Theme
from knotwork.records import Finding, Query


def overview(question, reports, *, confidence=0.0):
    from dataclasses import replace

    found = replace(EVIDENCE, query=Query(question), hits=(), confidence=confidence)
    themes = [Theme(report, passages) for passages, report in enumerate(reports, start=1)]
    reports = CommunityReports(STORE, None, None)
    searcher = SimpleNamespace(store=STORE)
    inquiry = Inquiry(question, AskMode.GLOBAL, AnswerSettings(), searcher, reports)
    return answer_from_themes(inquiry, found, themes)


TEAM = make_report(
    2,
    title="Ada Lovelace",
    findings=(Finding("Ada Lovelace was born in London.", (support("Team"),)),),
)
TRAVEL = make_report(
    1, findings=(Finding("Trips abroad are approved by the Travel Office.", (support("Travel"),)),)
)


def test_themes_are_numbered_with_their_statements_and_sources():
    answer, evidence = overview("What are the main themes?", [TRAVEL, TEAM])
    assert answer.text == (
        "The documents have 2 main themes:\n\n"
        "1. **Travel** (1 passage): Trips abroad are approved by the Travel Office. [1]\n"
        "2. **Ada Lovelace** (2 passages): Ada Lovelace was born in London. [2]"
    )
    assert answer.answered
    assert [c.quote for c in answer.citations] == [
        "Trips abroad are approved by the Travel Office.",
        "Ada Lovelace was born in London.",
    ]
    assert [hit.seeds for hit in evidence.hits] == [("Travel",), ("Ada Lovelace",)]


def test_the_frame_is_in_the_language_of_the_question():
    chinese = make_report(
        title="差旅", findings=(Finding("主任是温青岚。", (support("差旅", 1),)),)
    )
    answer, _ = overview("文档的主要内容是什么？", [chinese])
    assert answer.text == "这些文档主要有一个主题：\n\n1. **差旅**（1段）：主任是温青岚。[1]"


def test_requested_parts_must_exist():
    answer, _ = overview("Which operas are discussed most?", [TRAVEL, TEAM])
    assert (answer.answered, answer.reason) == (False, LOW_CONFIDENCE)
    assert answer.text == not_clear("en")
    assert answer.citations
    answer, _ = overview("Which trips are discussed most?", [TRAVEL, TEAM])
    assert answer.answered
    assert answer.text.startswith("What the documents say of this")
    # What a search is sure of counts too, as where the words are others.
    assert overview("Which operas are discussed most?", [TRAVEL], confidence=0.9)[0].answered


def test_without_reports_nothing_matches():
    answer, evidence = overview("What are the main themes?", [])
    assert (answer.answered, answer.reason, evidence.hits) == (False, NO_EVIDENCE, ())
    assert answer.text == no_match("en")


def test_statements_appear_once_and_with_their_chunk():
    twin = make_report(3, findings=TRAVEL.findings, title="Twin")
    answer, _ = overview("What are the main themes?", [TRAVEL, twin, TEAM])
    assert "Twin" not in answer.text
    assert answer.text.count("Trips abroad") == 1


def test_a_few_themes_have_more_statements():
    few, _ = overview("What are the main themes?", [make_report()])
    assert len(few.citations) == 3


def test_the_share_covered_counts_what_is_asked_for():
    assert covered_share("What are the main themes?", [TRAVEL]) == 1.0
    assert covered_share("What are the main themes?", []) == 0.0
    assert covered_share("Which trips and operas are discussed?", [TRAVEL]) == 0.5


def test_citations_lie_in_their_chunks():
    class Base:
        store = STORE

    answer, _ = overview("What are the main themes?", [make_report(), TEAM])
    check_citations(Base, answer)
    assert {c.chunk_id for c in answer.citations} <= {chunk.id for chunk in CHUNKS.values()}
