"""A server that fails in every way: each chunk ends read or quarantined, and `retry` mends it."""

import random
from collections import Counter

import pytest
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.served_models.chat import OpenAIChat
from knotwork._extensions.served_models.http import ModelServer
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._inference.call_cache import CallCache
from knotwork._inference.call_limits import LimitedChat, RateLimiter, RetryPolicy
from knotwork.records import Document, ReadingStatus
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


PEOPLE = ("Ada Smith", "Bob Jones", "Carol White", "Dan Brown", "Eve Black", "王小明")
TOWNS = ("London", "Vienna", "Oslo", "Bergen", "Riga", "Paris")
FAILING = {Fault.RATE_LIMITED: 0.1, Fault.SERVER_ERROR: 0.1, Fault.GARBAGE: 0.1}
CONCURRENCY = 8


def make_documents(count):
    chance = random.Random(5)

    def sentence(day):
        who, other = chance.sample(PEOPLE, 2)
        return f"{who} met {other} in {chance.choice(TOWNS)} on day {day} of the long journey."

    return [
        Document(
            f"{day:03}.txt",
            "\n\n".join(" ".join(sentence(day) for _ in range(5)) for _ in range(2)),
        )
        for day in range(count)
    ]


DOCUMENTS = make_documents(14)


class StillClock:
    """Time that passes only by waiting for it."""

    def __init__(self):
        self._now = 0.0

    def now(self):
        return self._now

    def wait(self, condition, seconds):
        self._now += seconds
        condition.wait(0.001)  # lets the others go on


def client(server, *, timeout_s=30.0, attempts=6):
    """Return the real client with its pace and its retries, which do not wait."""
    chat = OpenAIChat("test", ModelServer(server.url, api_key=None, timeout_s=timeout_s))
    pacer = RateLimiter(concurrency=CONCURRENCY, clock=StillClock())
    retries = RetryPolicy(attempts=attempts, sleep=lambda seconds: None)
    return LimitedChat(chat, pacer, retries=retries)


class HastyReader:
    """Gives up early on extraction alone: what no report can be written for ends the run."""

    def __init__(self, server):
        self._models = client(server, attempts=2), client(server, attempts=40)
        self.name = self._models[0].name

    def complete(self, request):
        return self._models[request.stage != "extract"].complete(request)

    def stream(self, request):
        return self._models[request.stage != "extract"].stream(request)


@pytest.fixture
def opened(tmp_path):
    bases = []

    def open_with(model, path="index.knot"):
        options = {"embedding_model": "none", "llm_tier": "full", "index_chunk_tokens": 80}
        kb = knotwork.open(
            tmp_path / path, chat_model=model, llm_concurrency=CONCURRENCY, **options
        )
        bases.append(kb)
        return kb

    yield open_with
    for kb in bases:
        kb.close()


@pytest.fixture(scope="module")
def faultless(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "index.knot"
    with ModelTestServer() as server, open_whole(path, client(server)) as kb:
        kb.index_documents(DOCUMENTS)
        return snapshot(kb.store)


def open_whole(path, model):
    options = {"embedding_model": "none", "llm_tier": "full", "index_chunk_tokens": 80}
    return knotwork.open(path, chat_model=model, **options)


def readings_of(kb):
    """Return the reading of each chunk, after checking that it has one, and what it must have."""
    store = kb.store
    held = store.documents.chunk_ids_of(store.documents.document_ids())
    chunk_ids = [chunk for ids in held.values() for chunk in ids]
    readings = store.readings.readings(chunk_ids)
    assert readings.keys() == set(chunk_ids)
    mentions = store.graph.mentions(chunk_ids)
    described = store.readings.descriptions_in(chunk_ids)
    for chunk_id, reading in readings.items():
        assert mentions[chunk_id], "every chunk of these documents names someone"
        if reading.status is ReadingStatus.QUARANTINED:
            assert reading.reason
            assert not described.get(chunk_id)
        else:
            assert not reading.reason
            assert described[chunk_id]
        assert all(d.text.strip() for d in described.get(chunk_id, ()))
    return readings


def check_counts(kb, report, server):
    """Check that the report, the index, the server and the file of calls count the same."""
    readings = readings_of(kb)
    assert report.failed == 0
    assert report.chunks == len(readings)
    assert report.readings == Counter(reading.status for reading in readings.values())
    totals = server.traffic.totals
    assert sum(usage.calls for usage in report.usage.values()) == totals.statuses[200]
    with_cache = CallCache(f"{kb.store.url}.calls")
    try:
        counted = with_cache.total()
        rejected = with_cache.rejected()
        assert counted.usage.calls == totals.statuses[200]
        assert counted.usage.output_tokens == totals.output_tokens
        assert counted.rejected == sum(reply.attempts for reply in rejected)
        assert all(reply.reason for reply in rejected)
    finally:
        with_cache.close()
    return readings


def test_a_fifth_failing_and_a_tenth_garbage_leaves_no_chunk_without_an_outcome(opened, faultless):
    with ModelTestServer(faults=FaultPlan(rates=FAILING, seed=11)) as server:
        kb = opened(client(server))
        report = kb.index_documents(DOCUMENTS)
        check_counts(kb, report, server)
        totals = server.traffic.totals
        share = {name: count / totals.calls for name, count in totals.faults.items()}
        assert set(share) == {"429", "500", "garbage"}
        assert all(0.03 < part < 0.2 for part in share.values())
        assert report.readings[ReadingStatus.OK] > 0.9 * report.chunks

        server.faults = FaultPlan()
        kb.index_documents(DOCUMENTS, retry=True)
        assert ReadingStatus.QUARANTINED not in kb.store.readings.counts()
        assert snapshot(kb.store) == faultless
        calls = server.traffic.totals.calls
        assert kb.index_documents(DOCUMENTS, retry=True).unchanged == len(DOCUMENTS)
        assert server.traffic.totals.calls == calls


def test_garbage_alone_is_quarantined_whole_and_mended_whole(opened, faultless):
    with ModelTestServer(faults=FaultPlan(rates={Fault.GARBAGE: 1.0})) as server:
        kb = opened(client(server))
        report = kb.index_documents(DOCUMENTS)
        readings = check_counts(kb, report, server)
        assert report.readings == {ReadingStatus.QUARANTINED: report.chunks}
        asked = [reading for reading in readings.values() if reading.raw]
        assert 0 < len(asked) < report.chunks
        assert any("`extract" in note for note in report.notes)
        calls = server.traffic.totals.endpoints["/chat/completions"]
        assert kb.index_documents(DOCUMENTS).unchanged == len(DOCUMENTS)
        assert server.traffic.totals.endpoints["/chat/completions"] == calls
        server.faults = FaultPlan()
        kb.index_documents(DOCUMENTS, retry=True)
        assert snapshot(kb.store) == faultless


@pytest.mark.parametrize("said", ["", '{"entities": [{"name": "Nobody"}]}', "{"])
def test_empty_replies_are_quarantined_and_never_count_as_no_findings(opened, faultless, said):
    brain = RuleBrain()
    with ModelTestServer(lambda messages: said) as server:
        kb = opened(client(server))
        report = kb.index_documents(DOCUMENTS)
        assert report.readings == {ReadingStatus.QUARANTINED: report.chunks}
        check_counts(kb, report, server)
        server.brain = brain
        kb.index_documents(DOCUMENTS, retry=True)
        assert snapshot(kb.store) == faultless


def test_answers_that_are_cut_or_broken_on_the_wire_are_asked_for_again(opened, faultless):
    rates = {Fault.CUT: 0.15, Fault.BROKEN_JSON: 0.15, Fault.NO_USAGE: 0.1, Fault.THINKING: 0.1}
    with ModelTestServer(faults=FaultPlan(rates=rates, seed=2)) as server:
        kb = opened(client(server, attempts=12))
        report = kb.index_documents(DOCUMENTS)
        assert ReadingStatus.QUARANTINED not in report.readings
        readings_of(kb)
        assert server.traffic.totals.faults.keys() == rates.keys()
    assert snapshot(kb.store) == faultless


def test_a_server_that_hangs_costs_its_timeout_and_no_chunk(opened, faultless):
    hangs = dict.fromkeys((3, 9, 20), Fault.HANG)
    with ModelTestServer(faults=FaultPlan(at=hangs)) as server:
        kb = opened(client(server, timeout_s=1.0, attempts=12))
        report = kb.index_documents(DOCUMENTS)
        # On a busy machine an answer may come after its time, so the server may have given more.
        used = sum(usage.calls for usage in report.usage.values())
        assert 0 < used <= server.traffic.totals.calls
        assert server.traffic.running >= len(hangs)
        server.release()
    assert ReadingStatus.QUARANTINED not in report.readings
    assert snapshot(kb.store) == faultless


def test_truncated_replies_are_kept_and_marked_as_truncated(opened):
    with ModelTestServer(faults=FaultPlan(rates={Fault.TRUNCATED: 1.0})) as server:
        kb = opened(client(server))
        report = kb.index_documents(DOCUMENTS)
        readings = check_counts(kb, report, server)
    assert report.readings[ReadingStatus.PARTIAL] > 0.9 * report.chunks
    for reading in readings.values():
        if reading.status is ReadingStatus.PARTIAL:
            assert any("cut off" in complaint for complaint in reading.complaints)


def test_chunks_that_no_server_answers_for_wait_for_the_next_run(opened, faultless):
    """A few in a row are given up one by one; the run goes on, and their documents stay due."""
    with ModelTestServer(faults=FaultPlan(rates={Fault.UNAVAILABLE: 0.5}, seed=4)) as server:
        kb = opened(HastyReader(server))
        report = kb.index_documents(DOCUMENTS)
        missed = report.readings[ReadingStatus.QUARANTINED]
        assert 0 < missed < report.chunks
        check_counts(kb, report, server)
        server.faults = FaultPlan()
        again = kb.index_documents(DOCUMENTS)  # without `retry`: nothing was asked in vain
        assert again.changed > 0
        assert snapshot(kb.store) == faultless
