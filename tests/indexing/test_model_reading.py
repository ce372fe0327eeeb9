"""A language model reads documents in the pipeline: tiers, faults, ceilings, repeats."""

import gc
import sys

import pytest
from tests.indexing.brained import brained, documents_of
from tests.indexing.snapshots import snapshot

from knotwork._extensions.diagnosis.index import check_readings
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.errors import BudgetExceeded, ConfigError, ModelUnavailable, UnknownName
from knotwork.records import ReadingStatus

pytestmark = pytest.mark.slow


TEXTS = {
    "firms.txt": "Ada Smith founded Acme London in 1900.\n\nBob Jones led Acme London from Vienna.",
    "boats.txt": "Carol White sailed from Oslo to Bergen with Bob Jones.",
    "travel.txt": "王小明在北京大学工作。他与李华一起创办了长江公司。",
}


def garble(*words):
    """Reply nonsense about every text that holds one of the words."""

    def wrap(request, reply):
        asked = request.messages[0].content.partition("<text>")[2]
        return "%%%" if any(word in asked for word in words) else reply

    return wrap


def test_the_lean_tier_asks_nothing_while_it_indexes(opened):
    model = brained()
    lean = opened(model)
    report = lean.index_documents(documents_of(TEXTS))
    none = opened(path="none.knot")
    none.index_documents(documents_of(TEXTS))
    assert model.requests == []
    assert report.readings == {}
    assert snapshot(lean.store) == snapshot(none.store)


def test_the_full_tier_adds_what_a_model_reads(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    report = kb.index_documents(documents_of(TEXTS))
    assert sum(report.readings.values()) == report.chunks == len(model.requests)
    assert report.usage["extract"].calls == len(model.requests)
    assert report.usage["extract"].output_tokens > 0
    held = snapshot(kb.store)
    assert held["readings"].keys() == set().union(*held["chunk ids"].values())
    described = {d.normal_form for found in held["descriptions"].values() for d in found}
    assert {"ada smith", "carol white"} <= described
    assert any("长江公司" in form for form in described)


def test_the_tier_can_be_changed_at_any_time_and_costs_nothing_again(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    kb.index_documents(documents_of(TEXTS))
    full, calls = snapshot(kb.store), len(model.requests)
    kb.index_documents(documents_of(TEXTS), tier="lean")
    plain = opened(path="none.knot")
    plain.index_documents(documents_of(TEXTS))
    assert snapshot(kb.store) == snapshot(plain.store)
    report = kb.index_documents(documents_of(TEXTS), tier="full")
    assert snapshot(kb.store) == full
    assert len(model.requests) == calls
    assert report.usage["extract"].reused == calls


def test_each_document_keeps_its_tier_until_another_is_asked_for(opened):
    model = brained()
    kb = opened(model)
    kb.index_documents(documents_of(TEXTS))
    kb.index_documents(documents_of({"boats.txt": TEXTS["boats.txt"]}), tier="full")
    assert len(model.requests) == 1
    assert kb.index_documents(documents_of(TEXTS)).unchanged == 3
    changed = {**TEXTS, "boats.txt": "Carol White sailed to Riga.", "firms.txt": "Ada Smith left."}
    report = kb.index_documents(documents_of(changed))
    assert report.changed == 2
    assert len(model.requests) == 2
    assert "Riga" in model.requests[-1].messages[0].content


def test_without_a_model_what_was_read_stays_and_what_changed_waits(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    kb.index_documents(documents_of(TEXTS))
    calls = len(model.requests)
    kb.close()
    bare = opened()
    assert bare.index_documents(documents_of(TEXTS)).unchanged == 3
    changed = {**TEXTS, "boats.txt": "Carol White sailed to Riga."}
    assert bare.index_documents(documents_of(changed)).changed == 1
    assert bare.index_documents(documents_of(changed)).unchanged == 3
    bare.close()
    again = opened(model)
    assert again.index_documents(documents_of(changed)).changed == 1
    assert len(model.requests) == calls + 1


def test_the_full_tier_without_a_model_is_refused(opened):
    with pytest.raises(ConfigError, match="needs a language model"):
        opened().index_documents(documents_of(TEXTS), tier="full")
    with pytest.raises(UnknownName, match="medium"):
        opened().index_documents(documents_of(TEXTS), tier="medium")


def test_a_chunk_without_a_usable_reply_is_quarantined_and_asked_again_on_request(opened):
    bad = brained(garble("Oslo"))
    kb = opened(bad, llm_tier="full")
    report = kb.index_documents(documents_of(TEXTS))
    assert report.readings[ReadingStatus.QUARANTINED] == 1
    (reading,) = kb.store.readings.quarantined()
    assert reading.raw == "%%%"
    assert reading.reason
    assert kb.graph.explore("Carol White").nodes  # what the rules found is there
    calls = len(bad.requests)
    assert kb.index_documents(documents_of(TEXTS)).unchanged == 3
    assert len(bad.requests) == calls
    kb.close()

    good = brained()
    again = opened(good)
    assert again.index_documents(documents_of(TEXTS)).unchanged == 3
    again.index_documents(documents_of(TEXTS), retry=True)
    assert again.store.readings.quarantined() == []
    assert all("Oslo" in request.messages[0].content for request in good.requests)
    fresh = opened(brained(), path="fresh.knot", llm_tier="full")
    fresh.index_documents(documents_of(TEXTS))
    assert snapshot(again.store) == snapshot(fresh.store)


def test_a_budget_stops_the_run_and_the_next_goes_on_from_there(opened):
    texts = {f"{i:02}.txt": f"Ada Smith met Bob Jones in Oslo on day {i}." for i in range(20)}
    whole = brained()
    fresh = opened(whole, path="whole.knot", llm_tier="full")
    tokens = fresh.index_documents(documents_of(texts)).usage["extract"]
    model = brained()
    kb = opened(model, llm_tier="full", llm_concurrency=2)
    share = (tokens.input_tokens + tokens.output_tokens) // 2 + 600
    with pytest.raises(BudgetExceeded, match="budget"):
        kb.index_documents(documents_of(texts), budget=f"{share} tokens")
    done = kb.stats().documents
    assert 0 < done < 20
    assert len(model.requests) >= done
    kb.index_documents(documents_of(texts))
    assert len(model.requests) == len(whole.requests) == 20
    assert snapshot(kb.store) == snapshot(fresh.store)


def test_a_server_that_is_gone_leaves_documents_to_the_next_run(opened):
    texts = {f"{i:02}.txt": f"Ada Smith met Bob Jones in Oslo on day {i}." for i in range(40)}
    gone = ScriptedChatModel(lambda request: ModelUnavailable("no server"))
    kb = opened(gone, llm_tier="full")
    with pytest.raises(ModelUnavailable, match="in a row"):
        kb.index_documents(documents_of(texts))
    kb.close()
    model = brained()
    again = opened(model, llm_tier="full")
    again.index_documents(documents_of(texts))
    assert len(model.requests) == 40
    assert again.store.readings.counts().keys() <= {ReadingStatus.OK, ReadingStatus.PARTIAL}
    fresh = opened(brained(), path="fresh.knot", llm_tier="full")
    fresh.index_documents(documents_of(texts))
    assert snapshot(again.store) == snapshot(fresh.store)


def test_the_number_of_calls_at_a_time_does_not_change_the_result(opened):
    alone = opened(brained(), path="alone.knot", llm_tier="full", llm_concurrency=1)
    alone.index_documents(documents_of(TEXTS))
    many = opened(brained(), path="many.knot", llm_tier="full", llm_concurrency=32)
    many.index_documents(reversed(documents_of(TEXTS)))
    assert snapshot(alone.store) == snapshot(many.store)


def test_deleting_a_document_makes_no_call_and_equals_a_fresh_build(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    kb.index_documents(documents_of(TEXTS))
    calls = len(model.requests)
    kb.delete("boats.txt")
    assert len(model.requests) == calls
    left = {uri: text for uri, text in TEXTS.items() if uri != "boats.txt"}
    fresh = opened(brained(), path="fresh.knot", llm_tier="full")
    fresh.index_documents(documents_of(left))
    assert snapshot(kb.store) == snapshot(fresh.store)


def test_a_run_leaves_the_settings_of_the_interpreter_alone(opened):
    def manners():
        return sys.getswitchinterval(), gc.get_threshold()

    before, during = manners(), []
    kb = opened(brained(lambda request, reply: during.append(manners()) or reply), llm_tier="full")
    kb.index_documents(documents_of(TEXTS))
    assert during
    assert {*during, manners()} == {before}


def test_an_estimate_asks_a_few_and_another_one_nobody(opened, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(40):
        text = f"Ada Smith founded Acme London in {1900 + number}. Bob Jones led it from Vienna."
        (folder / f"{number}.txt").write_text(text, "utf-8")
    model = brained()
    kb = opened(model)
    first = kb.estimate(folder, tier="full")
    assert (first.chunks, first.kept, first.sampled) == (40, 0, 12)
    assert len(model.requests) == first.spent.calls == 12
    again = kb.estimate(folder, tier="full")
    assert (again.kept, again.sampled, again.spent.calls) == (12, 0, 0)
    assert len(model.requests) == 12
    assert again.run == first.run
    report = kb.index(folder, tier="full")
    usage = report.usage["extract"]
    assert first.run.input_tokens.low <= usage.input_tokens <= first.run.input_tokens.high
    assert usage.calls == first.run.calls


def test_a_retry_is_estimated_by_what_it_would_ask(opened, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(6):
        text = f"Ada Smith founded Acme London in {1900 + number}. Bob Jones led it from Vienna."
        (folder / f"{number}.txt").write_text(text, "utf-8")
    garbage = {"1901", "1903"}

    def spoil(request, reply):
        asked = request.messages[0].content
        return "]]}{" if any(year in asked for year in garbage) else reply

    kb = opened(brained(spoil), llm_tier="full")
    kb.index(folder)
    assert kb.store.capabilities.readings.counts()[ReadingStatus.QUARANTINED] == 2
    check = check_readings(kb.store)[0]
    assert check.ok
    assert kb.estimate(folder).chunks == 0
    estimate = kb.estimate(folder, retry=True)
    assert (estimate.documents, estimate.chunks, estimate.kept) == (2, 2, 0)
    assert (estimate.sampled, estimate.readable) == (2, 0)
    garbage.clear()
    assert kb.estimate(folder, retry=True).readable == 2
    report = kb.index(folder, retry=True)
    assert report.usage["extract"].calls == 0  # the estimate asked, and its replies are cached
    assert ReadingStatus.QUARANTINED not in kb.store.capabilities.readings.counts()


def test_readings_that_are_all_quarantined_are_a_fault(opened):
    kb = opened(brained(lambda request, reply: "]]}{"), llm_tier="full")
    report = kb.index_documents(documents_of(TEXTS))
    (check,) = check_readings(kb.store)
    assert not check.ok
    assert "--retry" in check.fix
    assert report.chunks == len(TEXTS)
