"""Other programs: asyncio, plugins, adapters, notebooks, evaluation."""

import asyncio
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.installed import install

import knotwork
from knotwork.evaluation import (
    AnswerQuestion,
    JudgeCase,
    evaluate_answers,
    judge,
    measure_answers,
    read_answer_questions,
)
from knotwork.testing import ScriptedChatModel

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
QUESTION = "Who approves trips abroad?"
PLUGIN = '''
"""Reads files of oaths, and finds passages with the longest word of a question."""

from knotwork.plugins import BlockWriter, Content, Source, Store, decode_text, rank_evidence


class OathLoader:
    """Files of oaths: a line is an item."""

    name, suffixes, signatures = "oaths", (".oath",), ()

    def load(self, source: Source) -> Content:
        writer = BlockWriter(source)
        writer.heading(1, "Oaths")
        for line in decode_text(source).splitlines():
            writer.paragraph(line)
        return writer.content("text/plain", title=source.name)


class LongestRetriever:
    """passages with the longest word of the question"""

    name = "longest"

    def __init__(self, *, store: Store) -> None:
        self._store = store

    def retrieve(self, query):
        word = max(query.text.strip("?").split(), key=len).lower()
        documents = self._store.documents.document_ids()
        ids = sum(self._store.documents.chunk_ids_of(documents).values(), [])
        chunks = self._store.documents.chunks(ids)
        scores = {i: 1.0 for i, chunk in chunks.items() if word in chunk.text.lower()}
        return rank_evidence(query, scores, retriever=self.name, store=self._store)
'''


def test_the_asynchronous_twin_gives_the_same_results(index, kb, talk):
    async def ask():
        async with knotwork.open_async(index, read_only=True) as base:
            answer, evidence = await asyncio.gather(
                base.ask(QUESTION), base.search(QUESTION, retriever="bm25")
            )
            around = await base.graph.explore("Oriane Keld", depth=1)
            rows = await base.graph.cypher("MATCH (d:Document) RETURN count(d) AS n")
            tables = await base.tables.list()
            topics = await base.communities.list()
            kinds = [step.stage async for step in base.ask.run(QUESTION)]
            return answer, evidence, around, rows, tables, topics, kinds

    answer, evidence, around, rows, tables, topics, kinds = talk(ask())
    assert (answer.text, answer.citations) == (kb.ask(QUESTION).text, kb.ask(QUESTION).citations)
    assert evidence.hits == kb.search(QUESTION, retriever="bm25").hits
    assert around == kb.graph.explore("Oriane Keld", depth=1)
    assert [tuple(row) for row in rows.rows] == [(28,)]
    assert len(tables) == len(kb.tables.list())
    assert len(topics) == len(kb.communities.list())
    assert kinds[-1] == "finished"


def test_the_asynchronous_twin_indexes_in_steps_and_deletes(own_papers, tmp_path, talk):
    async def work():
        async with knotwork.open_async(tmp_path / "a.knot") as base:
            kinds = [str(step.stage) async for step in base.index.run(own_papers)]
            gone = await base.delete("papers/zh/温青岚.txt")
            return kinds, gone, await base.stats()

    kinds, gone, stats = talk(work())
    assert kinds.count("added") == 4
    assert gone == ("papers/zh/温青岚.txt",)
    assert stats.documents == 3


def test_a_plugin_that_is_installed_reads_its_files_and_finds_passages(tmp_path):
    site = install(
        tmp_path / "site",
        "knotwork-oaths",
        {
            "knotwork.loaders": {"oaths": "oaths:OathLoader"},
            "knotwork.retrievers": {"longest": "oaths:LongestRetriever"},
        },
        modules={"oaths.py": PLUGIN},
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ship.oath").write_text("We swear loyalty to the harbourmaster.\n")
    here = Path(knotwork.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(here)])}

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "knotwork", *arguments],
            capture_output=True, text=True, env=environment, cwd=tmp_path, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("index", "docs", "--store", "x.knot")
    asked = (
        "search",
        "Who is harbourmaster?",
        "--retriever",
        "longest + bm25",
        "--store",
        "x.knot",
    )
    assert "swear loyalty" in run(*asked)
    assert "passages with the longest word" in run("retrievers")
    assert "knotwork-oaths" in run("doctor", "--store", "x.knot")


CELL = """
import knotwork
from knotwork.plugins import register

register("retrievers", "longest", LongestRetriever)
register("loaders", "oaths", OathLoader())
with knotwork.open("memory:", embedder="none", index_workers=0) as base:
    assert base.index("ship.oath").added == 1
    found = base.search("Who is harbourmaster?", retriever="longest > budget(tokens=100)")
    assert "swear loyalty" in found.hits[0].chunk.text
try:
    register("retrievers", "bm25", LongestRetriever)
except knotwork.KnotworkError as error:
    print(error)
"""


def test_parts_are_registered_without_an_installation(tmp_path):
    (tmp_path / "ship.oath").write_text("We swear loyalty to the harbourmaster.\n")
    (tmp_path / "notebook.py").write_text(PLUGIN + CELL)
    here = str(Path(knotwork.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "notebook.py"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": here}, cwd=tmp_path,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "bm25" in done.stdout


def test_langchain_gets_the_same_passages(kb):
    pytest.importorskip("langchain_core")
    from knotwork.adapters.langchain import KnotworkRetriever, build_ask_tool

    found = KnotworkRetriever(knowledge_base=kb, retriever="bm25", k=3).invoke(QUESTION)
    hits = kb.search(QUESTION, retriever="bm25", k=3).hits
    assert [d.id for d in found] == [hit.chunk.id for hit in hits]
    assert [d.metadata["score"] for d in found] == [hit.score for hit in hits]
    assert "Travel Office" in build_ask_tool(kb).invoke({"question": QUESTION})


def test_llama_index_gets_the_same_passages(kb):
    pytest.importorskip("llama_index.core")
    from knotwork.adapters.llama_index import KnotworkRetriever

    nodes = KnotworkRetriever(kb, retriever="bm25", k=3).retrieve(QUESTION)
    hits = kb.search(QUESTION, retriever="bm25", k=3).hits
    assert [node.node.node_id for node in nodes] == [hit.chunk.id for hit in hits]


def test_haystack_gets_the_same_passages(kb, index, monkeypatch):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    pytest.importorskip("haystack")
    from knotwork.adapters.haystack import KnotworkRetriever

    component = KnotworkRetriever(str(index), retriever="bm25", top_k=3)
    found = component.run(QUESTION)["documents"]
    component.close()
    hits = kb.search(QUESTION, retriever="bm25", k=3).hits
    assert [document.id for document in found] == [hit.chunk.id for hit in hits]


def test_a_notebook_shows_what_matters_and_runs_no_script(index):
    spec = importlib.util.spec_from_file_location("examples", ROOT / "scripts/build_examples.py")
    examples = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(examples)
    cells = [
        f"import knotwork\nkb = knotwork.open({str(index)!r}, read_only=True)",
        f"kb.ask({QUESTION!r})",
        f"kb.search({QUESTION!r})",
        "kb.graph.explore('Oriane Keld', depth=1)",
        "new = knotwork.open('memory:')\nnew.index_documents([knotwork.Document('a', 'New.')])",
        "kb.close()\nnew.close()",
    ]
    notebook = {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
    run = examples.run_notebook(notebook)["cells"]
    shown = ["".join(out["data"]["text/html"]) for cell in run for out in cell["outputs"]]
    assert len(shown) == 4
    assert not any("<script" in html for html in shown)
    answer, evidence, around, report = shown
    assert "Travel Office" in answer
    assert "Travel policy" in evidence
    assert "<svg" in around
    assert "Tarnby" in around
    assert "added" in report


def test_questions_of_a_file_are_asked_and_measured(kb, tmp_path):
    file = tmp_path / "questions.csv"
    file.write_text(
        "question,answer,document\n"
        "Who approves trips abroad?,Travel Office,travel-policy.docx\n"
        "海外出差由谁审批？,办事处主任,zh/差旅管理办法.md\n"
        "Who is the mayor of Corvane?,,\n",
        encoding="utf-8",
    )
    questions = read_answer_questions(file)
    answers = evaluate_answers(kb, questions)
    assert [item.is_correct for item in answers] == [True, True, True]
    figures = measure_answers(answers).overall.figures
    assert figures["right"] == 1.0
    wrong = AnswerQuestion(QUESTION, (("the Queen",),))
    (item,) = evaluate_answers(kb, [wrong])
    assert not item.is_correct


def test_evaluation_on_the_command_line_compares_settings(cli, tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "Who approves trips abroad?", "answers": ["Travel Office"]}\n')
    told = cli("eval", file, "--compare", "retrieval.retriever=bm25", "--json").json
    assert told["questions"] == 1
    assert len(told["settings"]) == 2
    assert all(one["right"] == 1.0 for one in told["settings"].values())
    assert told["comparisons"][0]["difference"] == 0


def test_a_model_judges_any_answers():
    case = JudgeCase(
        "1", "Who designed the Kestrel probe?", "Oriane Keld designed it.",
        passages=("Oriane Keld designed the Kestrel probe.",), expected=(("Oriane Keld",),),
    )  # fmt: skip
    model = ScriptedChatModel(
        {"judge-statements": "1. Oriane Keld designed it.", "judge-support": "1 | yes"}
    )
    report = judge(model, [case], metrics=["faithfulness"])
    assert report.metrics["faithfulness"].estimate.mean == 1.0
