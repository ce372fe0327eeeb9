"""A part of an answer that fails costs only itself, and the notes say so."""

import pytest

from knotwork._extensions.paths import path_retriever
from knotwork._extensions.queries import table_rows
from knotwork._retrieval.steps.postprocessing import Rerank
from knotwork._synthesis import divided_answers, engine, extractive_answers, overviews
from knotwork._synthesis.ask_request import CommunityReports
from knotwork.errors import BudgetExceeded, QueryRefused, StoreError, UnknownName

from .small_files import index_of

FILES = {
    "staff.csv": "Name,Hired,Salary\nAda,2019-04-02,100\nBo,2021-11-15,120\nCid,2021-01-30,90\n",
    "harbour.md": "# Harbour\n\nThe office opens at seven. A berth costs 30 crowns a night.\n",
}
BERTH = "What does a berth cost?"
HIRED = "What is the salary of Bo?"
OPENING = "When does the office open?"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    with index_of(tmp_path_factory.mktemp("parts"), FILES) as kb:
        yield kb


def broken(*_args, **_options):
    raise RuntimeError("a part is broken")


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who was hired last in 2021?", "Bo"),
        ("Who was hired first in 2021?", "Cid"),
        ("Who was hired first?", "Ada"),
    ],
)
def test_the_end_of_a_range_is_answered(base, question, names):
    answer = base.ask(question)
    assert names in answer.text
    assert answer.citations
    assert not answer.notes


@pytest.mark.parametrize(
    ("owner", "name", "question", "part"),
    [
        (table_rows.TableRows, "ask", BERTH, "The query of tables and graphs"),
        (extractive_answers, "find_leading_result", HIRED, "The answer from rows or paths"),
        (extractive_answers, "compose_query_answer", HIRED, "The answer from rows or paths"),
        (extractive_answers, "name_subjects", BERTH, "Naming subjects"),
        (extractive_answers, "choose_short_answer", BERTH, "The short answer"),
        (extractive_answers, "find_rivals", OPENING, "The comparison of short answers"),
        (overviews, "plan_overview", "Summarise the harbour document", "The overview"),
        (overviews, "answer_overview", "Summarise the harbour document", "The overview"),
        (divided_answers, "_answer_part", f"{BERTH} {OPENING}", "The answer in this mode"),
    ],
)
def test_a_part_that_fails_is_left_out(base, monkeypatch, owner, name, question, part):
    monkeypatch.setattr(owner, name, broken)
    answer = base.ask(question)
    assert answer.answered
    assert answer.citations
    assert any(note.startswith(part) and "a part is broken" in note for note in answer.notes)


def test_a_refused_statement_is_left_out(base, monkeypatch):
    def refuse(*_args, **_options):
        raise QueryRefused("The statement is refused.")

    monkeypatch.setattr(table_rows, "write_sources", refuse)
    answer = base.ask("Who was hired last in 2021?")
    assert any("The statement is refused." in note for note in answer.notes)


def test_a_broken_reader_is_left_out(base, monkeypatch):
    reader = base.models.reader
    monkeypatch.setattr(type(reader), "read", broken)
    answer = base.ask(BERTH)
    assert "30 crowns" in answer.text
    assert any(note.startswith("The reader") for note in answer.notes)


def test_broken_reports_are_left_out(base, monkeypatch):
    monkeypatch.setattr(CommunityReports, "updated", broken)
    for mode in ("global", "auto"):
        answer = base.ask("What are the main themes of these documents?", mode=mode)
        assert any(note.startswith("The reports") for note in answer.notes), mode


def test_broken_modes_fall_back_to_sentences(base, monkeypatch):
    monkeypatch.setattr("knotwork._synthesis.mode_answers.find_themes", broken)
    for mode in ("local", "global", "hybrid", "map-reduce", "drift"):
        answer = base.ask(BERTH, mode=mode)
        assert "30 crowns" in answer.text, mode
        assert any("a part is broken" in note for note in answer.notes)


def test_broken_follow_ups_and_memory_are_left_out(base, monkeypatch):
    monkeypatch.setattr(engine, "_rewrite_follow_up", broken)
    answer = base.ask(BERTH, turns=[("Where is it?", "In Kelp.")], recall=broken)
    assert "30 crowns" in answer.text
    assert sorted(note.split(" failed")[0] for note in answer.notes) == [
        "Rewriting the follow-up",
        "The memory",
    ]


def test_broken_paths_and_rerankers_are_left_out(base, monkeypatch):
    monkeypatch.setattr(path_retriever, "find_candidates", broken)
    answer = base.ask(BERTH, retriever="paths")
    assert "30 crowns" in answer.text
    assert any(note.startswith("The search for paths") for note in answer.notes)
    monkeypatch.setattr(Rerank, "_judge", broken)
    answer = base.ask(BERTH, retriever="graph > rerank")
    assert "30 crowns" in answer.text
    assert any(note.startswith("Reranking") for note in answer.notes)


@pytest.mark.parametrize(
    "error", [StoreError("closed"), BudgetExceeded("spent"), KeyboardInterrupt]
)
def test_errors_for_the_user_are_raised(base, monkeypatch, error):
    def fail(*_args, **_options):
        raise error

    monkeypatch.setattr(table_rows.TableRows, "ask", fail)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        base.ask(BERTH)
    with pytest.raises(UnknownName):
        base.ask(BERTH, mode="none such")
