"""Work that takes too long, that is too much, or that nobody waits for any more."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from contextlib import aclosing

import httpx2 as httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.service.serving import (
    API,
    QUESTION,
    add_key,
    make_settings,
    open_client,
    run_server,
    wait_until,
)

from knotwork._extensions.server.limits import QuietLog, Threads, calling
from knotwork._extensions.server.responses import keep_alive
from knotwork._extensions.server.server import ServerConfig
from knotwork._knowledge_base import KnowledgeBase
from knotwork._run import Verb
from knotwork.errors import KnotworkError, Overloaded, RequestTimeout

pytestmark = pytest.mark.slow


OPEN = f"{API}/workspaces/open"


@pytest.fixture
def gate():
    """What held work waits for; it is opened in the end."""
    opened = threading.Event()
    yield opened
    opened.set()


def run(threads, work):
    async def start():
        return await work()

    try:
        return asyncio.run(start())
    finally:
        threads.close()


def test_slow_calls_are_abandoned_and_keep_their_thread(gate):
    threads = Threads(threads=1, waiting=0, timeout_s=0.05)

    async def work():
        with pytest.raises(RequestTimeout):
            await threads.run(gate.wait)
        with pytest.raises(Overloaded):
            await threads.run(int)
        gate.set()
        await asyncio.to_thread(wait_until, lambda: not threads.open)
        assert await threads.run(int, "7") == 7

    run(threads, work)


def test_no_more_wait_than_may(gate):
    threads = Threads(threads=1, waiting=1, timeout_s=20)

    async def work():
        first, second = (asyncio.ensure_future(threads.run(gate.wait)) for _ in range(2))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as refused:
            await threads.run(gate.wait)
        assert refused.value.retry_after_s
        gate.set()
        assert await asyncio.gather(first, second) == [True, True]

    run(threads, work)


def test_a_function_that_raises_a_timeout_of_its_own_is_not_a_slow_request():
    threads = Threads(threads=1, waiting=0, timeout_s=20)

    def fail():
        raise TimeoutError("its own")

    async def work():
        with pytest.raises(TimeoutError, match="its own"):
            await threads.run(fail)

    run(threads, work)


def test_items_come_in_order_and_an_error_after_them():
    threads = Threads(threads=1, waiting=0, timeout_s=20)

    def items():
        yield from range(50)
        raise KnotworkError("the end")

    async def work():
        coming = threads.iterate(items)
        assert [await anext(coming) for _ in range(50)] == list(range(50))
        with pytest.raises(KnotworkError, match="the end"):
            await anext(coming)

    run(threads, work)


def test_whoever_stops_early_ends_the_work():
    threads = Threads(threads=1, waiting=0, timeout_s=20)
    ended = threading.Event()

    def items():
        try:
            while True:
                yield 1
                time.sleep(0.001)
        finally:
            ended.set()

    async def work():
        async with aclosing(threads.iterate(items)) as coming:
            assert await anext(coming) == 1
        assert await asyncio.to_thread(ended.wait, 10)

    run(threads, work)


def test_a_silent_stream_is_kept_alive(monkeypatch):
    monkeypatch.setattr("knotwork._extensions.server.responses.PING_S", 0.01)

    async def slow():
        yield b"one"
        await asyncio.sleep(0.05)
        yield b"two"

    async def collect():
        return [event async for event in keep_alive(slow())]

    events = asyncio.run(collect())
    assert (events[0], events[-1]) == (b"one", b"two")
    assert set(events[1:-1]) == {b": ping\n\n"}


def test_a_slow_request_gets_a_timeout_error(place, monkeypatch, gate):
    monkeypatch.setattr(KnowledgeBase, "search", lambda *_, **__: gate.wait())
    slow = ServerConfig(place.path, make_settings(timeout_s=0.2, threads=1, waiting=0))
    with open_client(slow) as client:
        late = client.post(f"{OPEN}/search", json={"question": QUESTION})
        assert (late.status_code, late.json()["error"]["code"]) == (504, "request_timeout")
        full = client.post(f"{OPEN}/search", json={"question": QUESTION})
        assert (full.status_code, full.json()["error"]["code"]) == (503, "overloaded")
        assert int(full.headers["retry-after"]) >= 1
        assert client.get("/health/live").status_code == 200
        gate.set()


def test_an_internal_error_is_reported_without_its_message(place, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("a passage that nobody should read")

    monkeypatch.setattr(KnowledgeBase, "search", fail)
    with run_server(place) as address, httpx.Client(base_url=address) as client:
        failed = client.post(f"{OPEN}/search", json={"question": QUESTION})
        again = client.post(f"{OPEN}/search", json={"question": QUESTION})
    assert failed.status_code == again.status_code == 500
    assert "passage" not in failed.text
    assert failed.headers["x-content-type-options"] == "nosniff"
    identifier = failed.json()["request_id"]
    assert [r for r in caplog.records if identifier in r.getMessage() and r.exc_info]


def test_an_error_within_a_stream_is_its_last_event(place, monkeypatch):
    whole = KnowledgeBase.ask

    def broken(self, question, **options):
        events = whole.run(self, question, **options)
        yield next(events)
        raise KnotworkError("It broke off.", fix="Ask again.")

    monkeypatch.setattr(KnowledgeBase, "ask", Verb(broken))
    asked = {"model": "open", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    with open_client(place) as client:
        ours = client.post(f"{OPEN}/ask/stream", json={"question": QUESTION}).text
        theirs = client.post("/v1/chat/completions", json=asked).text
    assert ours.rstrip().split("\n\n")[-1].startswith("event: error\ndata: ")
    last = json.loads(theirs.strip().split("\n\n")[-1].removeprefix("data: "))
    assert last["error"]["code"] == "knotwork_error"
    assert "[DONE]" not in theirs


def test_a_reader_may_not_raise_the_budget_that_the_server_sets(place):
    frugal = ServerConfig(place.path, make_settings(question_budget="2k"))
    reader, admin = add_key(place, "r", "read", "*"), add_key(place, "a", "admin", "*")
    asked = {"question": QUESTION, "budget": "9k"}
    with open_client(frugal) as client:
        assert client.post(f"{OPEN}/ask", json=asked, headers=reader).status_code == 403
        assert client.post(f"{OPEN}/ask", json=asked, headers=admin).status_code == 200
        plain = {"question": QUESTION}
        assert client.post(f"{OPEN}/ask", json=plain, headers=reader).status_code == 200


def test_a_server_that_stops_ends_the_streams_of_jobs_that_go_on(place, monkeypatch, gate):
    def hold(_workspace, _arguments, progress):
        while not gate.wait(0.01):
            progress.enter("holding")
        return {}

    monkeypatch.setattr("knotwork._extensions.server.job_runner.WORK", {"communities": hold})
    with run_server(place) as address:
        client = httpx.Client(base_url=address, timeout=30)
        job = client.post(f"{OPEN}/communities/refresh", json={}).json()["data"]
        lines: list[str] = []

        def follow():
            with client.stream("GET", f"{OPEN}/jobs/{job['id']}/events") as response:
                lines.extend(response.iter_lines())

        thread = threading.Thread(target=follow)
        thread.start()
        wait_until(lambda: bool(lines) or thread.is_alive())
        wait_until(
            lambda: client.get(f"{OPEN}/jobs/{job['id']}").json()["data"]["state"] == "running"
        )
    thread.join(20)
    client.close()
    assert not thread.is_alive()
    assert "event: end" not in lines


def test_traces_report_what_was_done_and_never_what_was_asked(place, monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    with open_client(place) as client:
        client.post(f"{OPEN}/ask", json={"question": QUESTION})
        client.post(f"{OPEN}/search", json={"question": QUESTION, "retriever": "bm25"})
    spans = {span.name: dict(span.attributes) for span in exporter.get_finished_spans()}
    assert spans["ask open"]["gen_ai.operation.name"] == "ask"
    assert spans["ask open"]["gen_ai.usage.input_tokens"] == 0
    assert spans["retrieval open"]["knotwork.retriever"] == "bm25"
    assert spans["retrieval open"]["knotwork.hits"] > 0
    assert QUESTION not in str(spans)
    provider.shutdown()


def test_callers_take_turns_and_none_gets_all_threads(gate):
    threads = Threads(threads=4, waiting=100, timeout_s=20)
    begun = []

    async def ask(caller):
        calling.set(caller)
        await threads.run(lambda: begun.append(caller) or gate.wait(20))

    async def work():
        greedy = [asyncio.ensure_future(ask("greedy")) for _ in range(10)]
        await asyncio.to_thread(wait_until, lambda: len(begun) == 3)
        honest = asyncio.ensure_future(ask("honest"))
        await asyncio.to_thread(wait_until, lambda: "honest" in begun)
        assert begun == ["greedy"] * 3 + ["honest"]
        gate.set()
        await asyncio.gather(honest, *greedy)
        assert len(begun) == 11
        await asyncio.to_thread(wait_until, lambda: not threads.open)

    run(threads, work)


def test_work_that_nobody_waits_for_any_more_is_not_begun(gate):
    threads = Threads(threads=1, waiting=5, timeout_s=20)
    begun = []

    async def work():
        first = asyncio.ensure_future(threads.run(gate.wait, 20))
        second = asyncio.ensure_future(threads.run(begun.append, 1))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        assert threads.open == 1
        gate.set()
        assert await first
        assert await threads.run(int, "7") == 7

    run(threads, work)
    assert not begun


def test_messages_that_clients_cause_are_logged_once_in_a_while(caplog):
    now = 0.0
    log = QuietLog(logging.getLogger("knotwork.service"), clock=lambda: now)
    for _ in range(1_000):
        log.write(logging.WARNING, "refused", "connection refused")
    log.write(logging.WARNING, "other", "something else")
    now = 11.0
    log.write(logging.WARNING, "refused", "connection refused")
    assert caplog.messages == [
        "connection refused",
        "something else",
        "connection refused (999 more like it before)",
    ]
