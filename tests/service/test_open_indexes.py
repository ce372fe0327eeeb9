"""Only so many indexes are open at a time, and none is closed while it is in use."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.service.serving import (
    API,
    QUESTION,
    copy_index,
    make_settings,
    open_client,
    wait_until,
)

from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.server.workspaces import Workspaces
from knotwork._knowledge_base import KnowledgeBase
from knotwork.errors import Conflict

pytestmark = pytest.mark.slow


NAMES = [f"w{n}" for n in range(6)]


@pytest.fixture
def folder(sample_index, tmp_path):
    for name in NAMES:
        copy_index(sample_index, tmp_path / f"{name}.knot")
    return tmp_path


@pytest.fixture
def closed(monkeypatch):
    """The files of indexes in the order in which they were closed."""
    names = []
    close = KnowledgeBase.close

    def note(self):
        names.append(self.store.url.rpartition("/")[2].removesuffix(".knot"))
        close(self)

    monkeypatch.setattr(KnowledgeBase, "close", note)
    return names


def ask(client, name):
    body = {"question": QUESTION, "retriever": "bm25"}
    response = client.post(f"{API}/workspaces/{name}/ask", json=body)
    assert response.status_code == 200, response.text
    return response.json()["data"]["answer"]


def test_the_one_that_was_not_used_for_longest_is_closed_for_another(folder, closed):
    with open_client(ServerConfig(folder, make_settings(open_indexes=3))) as client:
        answers = {ask(client, name) for name in ("w0", "w1", "w2")}
        ask(client, "w0")
        assert closed == []
        answers |= {ask(client, name) for name in ("w3", "w4", "w1")}
        assert closed == ["w1", "w2", "w0"]
        assert "knotwork_workspaces_open 3.0" in client.get("/metrics").text
    assert len(answers) == 1
    assert sorted(closed[3:]) == ["w1", "w3", "w4"]


def test_one_that_is_used_stays_open_and_is_closed_when_it_is_not(folder, closed):
    workspaces = Workspaces(folder, make_settings(open_indexes=1))
    with workspaces.lease("w0") as first:
        used = first.base
        for name in ("w1", "w2"):
            with workspaces.lease(name) as other:
                assert other.base.stats().documents == 22
        assert closed == ["w1"]
        assert workspaces.opened() == 2
        assert first.base is used
        assert used.stats().documents == 22
    with workspaces.lease("w3") as last:
        assert last.base.stats().documents == 22
        assert set(closed[1:]) == {"w0", "w2"}
        assert workspaces.opened() == 1
    workspaces.close()


def test_work_that_nobody_waits_for_any_more_keeps_its_index(folder, closed, monkeypatch):
    gate, done = threading.Event(), []
    search = KnowledgeBase.search

    def slow(self, question, **options):
        if self.store.url.endswith("w0.knot"):
            gate.wait(20)
            done.append(len(search(self, question, **options).hits))
        return search(self, question, **options)

    monkeypatch.setattr(KnowledgeBase, "search", slow)
    settings = make_settings(open_indexes=1, timeout_s=0.3)
    with open_client(ServerConfig(folder, settings)) as client:
        body = {"question": QUESTION, "retriever": "bm25"}
        late = client.post(f"{API}/workspaces/w0/search", json=body)
        assert late.status_code == 504
        ask(client, "w1")
        assert closed == []
        gate.set()
        wait_until(lambda: bool(done))
        assert done[0] > 0
        # The lease may end after the search; each index that is opened then makes room again.
        wait_until(lambda: ask(client, "w2") and ask(client, "w1") and "w0" in closed)


def test_a_removal_waits_until_a_request_that_is_about_to_end_has_ended(folder):
    workspaces = Workspaces(folder, make_settings())
    with ThreadPoolExecutor() as pool:
        with workspaces.lease("w0"):
            removal = pool.submit(workspaces.remove, "w0")
        removal.result(20)
    assert not (folder / "w0.knot").exists()
    with workspaces.lease("w1"), pytest.raises(Conflict):
        workspaces.remove("w1")
    assert (folder / "w1.knot").exists()


def test_many_threads_over_more_indexes_than_may_be_open_meet_no_closed_one(folder):
    workspaces = Workspaces(folder, make_settings(open_indexes=2))
    faults, most = [], []

    def work(seed):
        try:
            for step in range(12):
                with workspaces.lease(NAMES[(seed * 5 + step) % len(NAMES)]) as workspace:
                    assert workspace.base.search(QUESTION, retriever="bm25", k=3).hits
                    most.append(workspaces.opened())
        except Exception as error:  # noqa: BLE001  the test reports it
            faults.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not faults
    assert max(most) <= 2 + len(threads)
    with workspaces.lease("w0") as workspace:
        _ = workspace.base
    with workspaces.lease("w1") as workspace:
        _ = workspace.base
    assert workspaces.opened() <= 2
    workspaces.close()


@pytest.mark.parametrize(("model", "is_local"), [("none", True), ("hashing:64", False)])
def test_the_index_that_was_changed_last_is_asked_in_advance(folder, model, is_local, monkeypatch):
    asked = []

    def note(base, question, **options):
        asked.append((Path(base.store.url).stem, options))

    monkeypatch.setattr(KnowledgeBase, "ask", note)
    for name in NAMES:
        os.utime(folder / f"{name}.knot", (1, 1))
    os.utime(folder / "w3.knot", (2, 2))
    settings = make_settings()
    settings = replace(settings, embedding=replace(settings.embedding, model=model))
    with open_client(ServerConfig(folder, settings)) as client:
        service = client.app.state.service
        service.warmer.wait(60)
        assert service.workspaces.opened() == is_local
    assert {name for name, _ in asked} == ({"w3"} if is_local else set())
    assert all(options["use_llm"] is False for _, options in asked)
