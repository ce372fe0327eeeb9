"""Reports by a model that fails: nothing lost, nothing paid twice, and what stands meanwhile."""

from contextlib import closing

import pytest
from tests.indexing.communities.written import (
    REPORTS_A_CALL,
    brain,
    indexed,
    reports_of,
    sources,
    writer,
)

from knotwork._extensions.model_indexing.written_reports import write_reports
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.communities.detection import stored_communities
from knotwork._indexing.communities.index_reports import (
    bring_up_to_date,
    is_current,
    refresh_reports,
)
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork.errors import BudgetExceeded, ModelError, ModelUnavailable
from knotwork.records import EXTRACTIVE_SOURCE
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.usefixtures("small_briefs")


@pytest.mark.parametrize("garbage", ["", "I am sorry.", "||||\n|", '{"title": "x", }', "好的好的"])
def test_the_documents_stand_in_for_a_model_that_says_nothing(garbage):
    base, plain = indexed(), indexed()
    refresh_reports(plain.store)
    model = ScriptedChatModel(garbage)
    changes = refresh_reports(base.store, writer=writer(model))
    assert changes.by_model == 0
    assert changes.stand_ins > 0
    assert len({c.line for c in changes.complaints} & reports_of(base).keys()) == changes.stand_ins
    assert sources(base) == {EXTRACTIVE_SOURCE}
    contents = {key: (r.title, r.summary, r.findings) for key, r in reports_of(base).items()}
    assert contents == {
        key: (r.title, r.summary, r.findings) for key, r in reports_of(plain).items()
    }
    calls = len(model.requests)
    assert calls == 2 * sum("Your last reply" not in r.messages[-1].content for r in model.requests)
    refresh_reports(base.store, writer=writer(model))
    refresh_reports(base.store)
    assert len(model.requests) == calls
    better = ScriptedChatModel(brain)
    changes = refresh_reports(base.store, writer=writer(better, retry=True))
    assert changes.by_model == len(
        [r for r in reports_of(base).values() if r.source == better.name]
    )
    assert changes.by_model > 0


def test_items_missing_in_a_reply_are_requested_once_more_alone():
    base = indexed()

    def half(request):
        said = brain(request)
        if "Your last reply" in request.messages[-1].content:
            return said
        return said.split("report | 2")[0]

    model = ScriptedChatModel(half)
    changes = refresh_reports(base.store, writer=writer(model))
    assert changes.stand_ins == 0
    repairs = [r for r in model.requests if "Your last reply" in r.messages[-1].content]
    assert repairs
    assert all("# 2" not in request.messages[-1].content for request in repairs)


def test_a_reply_that_is_cut_off_keeps_what_it_said():
    base = indexed()

    def cut(request):
        return brain(request)[: len(brain(request)) * 2 // 3]

    model = ScriptedChatModel(cut)
    changes = refresh_reports(base.store, writer=writer(model))
    assert changes.by_model > 0
    for report in reports_of(base).values():
        assert report.title
        assert report.findings


def test_a_ceiling_keeps_what_was_finished_and_the_rest_comes_later():
    base = indexed()
    model = ScriptedChatModel(brain, errors={2: BudgetExceeded("The ceiling is reached.")})
    with pytest.raises(BudgetExceeded):
        bring_up_to_date(base.store, writer=writer(model))
    assert is_current(base.store)
    assert not is_current(base.store, written=True)
    finished = {k: r for k, r in reports_of(base).items() if r.source == model.name}
    assert finished
    assert len(reports_of(base)) == len(stored_communities(base.store.communities))
    bring_up_to_date(base.store, writer=writer(model))
    assert is_current(base.store, written=True)
    assert finished.items() <= reports_of(base).items()
    whole = indexed()
    bring_up_to_date(whole.store, writer=writer())
    assert reports_of(base) == reports_of(whole)
    assert len(model.requests) == 1 + len({r.messages for r in model.requests})


def test_a_call_that_no_server_answers_leaves_its_reports_for_the_next_run():
    base = indexed()
    model = ScriptedChatModel(brain, errors={2: ModelUnavailable("No server.")})
    changes = bring_up_to_date(base.store, writer=writer(model))
    assert changes.by_model > 0
    assert 0 < changes.unanswered <= REPORTS_A_CALL
    assert changes.stand_ins == 0
    assert is_current(base.store)
    assert not is_current(base.store, written=True)
    assert sources(base) == {EXTRACTIVE_SOURCE, model.name}
    later = bring_up_to_date(base.store, writer=writer(model))
    assert (later.by_model, later.unanswered) == (changes.unanswered, 0)
    assert is_current(base.store, written=True)
    whole = indexed()
    bring_up_to_date(whole.store, writer=writer())
    assert {k: r.content_key for k, r in reports_of(base).items()} == {
        k: r.content_key for k, r in reports_of(whole).items()
    }


def test_a_server_that_is_gone_ends_the_run_and_is_no_fault_of_a_community():
    base = indexed()
    gone = ScriptedChatModel(lambda _: ModelUnavailable("No server."))
    with pytest.raises(ModelUnavailable, match="2 requests in a row: No server"):
        refresh_reports(base.store, writer=writer(gone, patience=2, reports_a_call=1))
    assert sources(base) == {EXTRACTIVE_SOURCE}
    with pytest.raises(ModelUnavailable):
        write_reports(base.store, reports_of(base), writer(gone, patience=2, reports_a_call=1))
    changes = refresh_reports(base.store, writer=writer())
    assert changes.by_model > 0


def test_a_server_that_answers_now_and_then_ends_no_run():
    base = indexed()
    errors = {number: ModelUnavailable("Busy.") for number in range(1, 200, 2)}
    model = ScriptedChatModel(brain, errors=errors)
    changes = refresh_reports(base.store, writer=writer(model, patience=2, reports_a_call=1))
    assert changes.by_model > 0
    assert abs(changes.unanswered - changes.by_model) <= 1


def test_a_key_that_is_refused_ends_the_run():
    base = indexed()
    refused = ScriptedChatModel(
        lambda _: ModelError("The key is refused.", status=401), errors={1: BudgetExceeded("No.")}
    )
    with pytest.raises(BudgetExceeded):
        refresh_reports(base.store, writer=writer(refused))
    with pytest.raises(ModelError, match="refused"):
        refresh_reports(base.store, writer=writer(refused))
    assert sources(base) == {EXTRACTIVE_SOURCE}


def test_rejected_batches_are_sent_one_by_one():
    base = indexed()

    def refuse(request):
        if "# 2" in request.messages[-1].content:
            return ModelError("The request is too long.", status=413)
        return brain(request)

    changes = refresh_reports(base.store, writer=writer(ScriptedChatModel(refuse)))
    assert changes.by_model > 0
    assert changes.stand_ins == 0


def test_a_killed_run_pays_for_nothing_twice(tmp_path):
    base = indexed()
    model = ScriptedChatModel(brain)
    with closing(CallCache(str(tmp_path / "calls"))) as cache:
        refresh_reports(base.store, writer=writer(CachedChatModel(model, cache)))
        calls = len(model.requests)
        again = indexed()
        refresh_reports(again.store, writer=writer(CachedChatModel(model, cache)))
    assert len(model.requests) == calls
    assert reports_of(again) == reports_of(base)


def test_many_calls_at_a_time_write_the_same():
    base, other = indexed(), indexed()
    refresh_reports(base.store, writer=writer(concurrency=1))
    refresh_reports(other.store, writer=writer(concurrency=8))
    assert reports_of(base) == reports_of(other)


def test_a_server_that_fails_at_times_costs_no_report(tmp_path):
    from knotwork._config import LlmSettings
    from knotwork._inference.call_limits import RetryPolicy
    from knotwork._inference.model_registry import ChatModels

    plan = FaultPlan(rates={Fault.RATE_LIMITED: 0.2, Fault.GARBAGE: 0.2, Fault.THINKING: 0.2})
    with ModelTestServer(faults=plan) as server:
        settings = LlmSettings(model="openai:test", base_url=server.url)
        model = ChatModels(settings, retries=RetryPolicy(sleep=lambda _: None)).open("summarize")
        base = indexed()
        changes = refresh_reports(base.store, writer=writer(model, concurrency=2))
    assert changes.written == len(reports_of(base))
    for report in reports_of(base).values():
        assert report.findings
        assert "language model" not in report.text
        assert all(finding.supports for finding in report.findings)
