"""The server listens, and loads its model."""

import asyncio
import socket
import sys
import threading
from types import SimpleNamespace

from knotwork._extensions.server import make_app
from knotwork._extensions.server.server import KnotworkServer, ModelLoader, ServerConfig, _listen
from knotwork._inference.embedder import HashingEmbedder
from knotwork.errors import ModelError


def test_no_part_of_an_answer_waits_for_the_one_before_to_be_acknowledged():
    with (
        _listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()) as asking,
    ):
        answering, _ = listening.accept()
        with answering:
            assert answering.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert asking.getpeername() == listening.getsockname()


def test_the_model_is_loaded_in_the_background_once():
    begun, go_on = threading.Event(), threading.Event()

    class SlowEmbedder(HashingEmbedder):
        is_loaded = False

        def embed(self, texts):
            begun.set()
            assert go_on.wait(60)
            return super().embed(texts)

    embedder = SlowEmbedder(16)
    warmer = ModelLoader(lambda: embedder)
    assert warmer.state == "none"
    warmer.start()
    assert begun.wait(60)
    assert warmer.state == "loading"
    go_on.set()
    warmer.wait(60)
    assert warmer.state == "ready"
    assert embedder.calls == 1


def test_a_model_that_cannot_be_loaded_stops_no_server():
    def fail():
        raise ModelError("The weights are damaged.")

    warmer = ModelLoader(fail)
    warmer.start()
    warmer.wait(60)
    assert warmer.state == "failed"


def test_readiness_says_whether_the_model_is_there(client):
    client.app.state.service.warmer.wait(60)
    found = client.get("/health/ready").json()["data"]
    assert found == {"status": "ready", "model": "ready"}


def test_threads_that_compute_give_way_sooner_while_the_event_loop_is_late(tmp_path, monkeypatch):
    now = 100.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("knotwork._extensions.server.server.time", clock)
    server = KnotworkServer(make_app(ServerConfig(tmp_path)))
    before, turns = sys.getswitchinterval(), []
    try:
        for passed_s in (0.0, 0.1, 0.4, 0.1):
            now += passed_s
            asyncio.run(server.on_tick(1))
            turns.append(sys.getswitchinterval())
    finally:
        sys.setswitchinterval(before)
    first, in_time, late, in_time_again = turns
    assert late < first == in_time == in_time_again
