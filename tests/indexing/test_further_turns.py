"""Gleaning and the check of relations in the pipeline: what they change, and what they cost."""

from collections import Counter

import pytest

import knotwork
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.brains.prompts import read_assignment
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.records import Document
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow


TEXTS = {
    "firms.txt": "Ada Smith founded Acme London in 1900.\n\nBob Jones led Acme London from Vienna.",
    "travel.txt": "王小明在北京大学工作。他与李华一起创办了长江公司。",
}
WRONG = "relation | Vienna | employed | Ada Smith | Vienna employed Ada Smith."
MISSED = "relation | Bob Jones | worked with | Ada Smith | He worked with her."


@pytest.fixture
def indexed(tmp_path):
    """Index the texts and return the model that was asked, the index and its report."""
    opened = []

    def index(model, name, **settings):
        kb = knotwork.open(
            tmp_path / f"{name}.knot",
            chat_model=model,
            embedding_model="none",
            llm_tier="full",
            **settings,
        )
        opened.append(kb)
        return kb, kb.index_documents([Document(u, t, title=u) for u, t in TEXTS.items()])

    yield index
    for kb in opened:
        kb.close()


def speaking(**told):
    """Return a brain that adds a line to its reply to a task."""
    brain = RuleBrain()

    def reply(request):
        task = read_assignment(request.messages).task.replace("-", "_")
        said = brain(request.messages)
        in_english = "Ada Smith" in request.messages[0].content
        if task not in told or not in_english:
            return said
        return told[task] if said == "none" else f"{said}\n{told[task]}"

    return ScriptedChatModel(reply)


def asked(model, task):
    assignments = [read_assignment(request.messages) for request in model.requests]
    return [assignment for assignment in assignments if assignment.task == task]


def relations_of(kb):
    names = {n.id: n.name for n in kb.store.graph.find(label="Entity", limit=1_000)}
    return {
        (names[e.source], e.relation, names[e.target])
        for e in kb.store.graph.edges(types={"RELATES"})
    }


def test_the_check_takes_out_what_no_sentence_states(indexed):
    fact = ("Vienna", "employed", "Ada Smith")
    without, _ = indexed(speaking(extract_graph=WRONG), "without")
    assert fact in relations_of(without)
    model = speaking(extract_graph=WRONG)
    checked, report = indexed(model, "with", extraction_check_relations=True)
    assert relations_of(checked) == relations_of(without) - {fact}
    assert len(asked(model, "check-relations")) == len(TEXTS)
    assert report.usage["extract"].calls == 2 * len(TEXTS)
    held = checked.store.documents.chunk_ids_of([Document(uri, "").id for uri in TEXTS])
    readings = checked.store.readings.readings([chunk for ids in held.values() for chunk in ids])
    (reading,) = (r for r in readings.values() if r.complaints)
    assert any("does not state it" in complaint for complaint in reading.complaints)


def test_gleaning_adds_what_the_first_reply_left_out(indexed):
    fact = ("Bob Jones", "worked with", "Ada Smith")
    without, _ = indexed(speaking(glean=MISSED), "without")
    model = speaking(glean=MISSED)
    gleaned, report = indexed(model, "with", extraction_gleanings=1)
    assert relations_of(gleaned) == relations_of(without) | {fact}
    assert len(asked(model, "glean")) == len(TEXTS)
    assert report.usage["extract"].calls == 2 * len(TEXTS)


def test_both_turns_follow_each_other_and_are_kept_apart_by_settings(indexed):
    model = speaking(extract_graph=WRONG, glean=MISSED)
    wanted = {"extraction_gleanings": 2, "extraction_check_relations": True}
    kb, _ = indexed(model, "both", **wanted)
    tasks = [read_assignment(request.messages).task for request in model.requests]
    # Where nothing came, gleaning ends; where no name did, its next request is an equal one.
    assert Counter(tasks) == dict.fromkeys(("extract-graph", "glean", "check-relations"), 2)
    found = {relation for _, relation, _ in relations_of(kb)}
    assert "employed" not in found
    calls = len(model.requests)
    again, report = indexed(model, "both", **wanted)
    assert report.unchanged == len(TEXTS)
    assert len(model.requests) == calls
    assert relations_of(again) == relations_of(kb)


def test_a_server_is_asked_the_same(tmp_path):
    settings = {"extraction_gleanings": 1, "extraction_check_relations": True}
    with ModelTestServer() as server:
        base = {"llm_model": "openai:brain", "llm_base_url": server.url, "llm_tier": "full"}
        with knotwork.open(
            tmp_path / "served.knot", embedding_model="none", **base, **settings
        ) as kb:
            report = kb.index_documents([Document(u, t, title=u) for u, t in TEXTS.items()])
            assert report.usage["extract"].calls == 3 * len(TEXTS)
            assert kb.store.readings.quarantined() == []
            assert ("Ada Smith", "founded", "Acme London") in relations_of(kb)
        contents = [call.body["messages"][0]["content"] for call in server.traffic.calls]
    assert sum(content.startswith("task: check-relations") for content in contents) == len(TEXTS)
