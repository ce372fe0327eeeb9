"""Reading documents by the batch API of a server."""

import json
import sqlite3
from decimal import Decimal

import pytest
from tests.cli.running import knotwork as run_command

import knotwork
from knotwork._extensions.served_models import batches as call_batches
from knotwork._extensions.served_models.batches import CallBatches
from knotwork.errors import ConfigError, ModelError
from knotwork.testing import FaultPlan, ModelTestServer, ScriptedChatModel
from knotwork.testing.model_server import BatchPlan

pytestmark = pytest.mark.slow

NAMES = ("Ann", "Ben", "Cleo", "Dora", "Emil", "Fay")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(call_batches, "_FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(call_batches, "_LONGEST_WAIT_S", 0.001)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "docs"
    place.mkdir()
    for name in NAMES:
        text = f"{name} Meyer founded the company {name} Works in Bremen."
        (place / f"{name}.txt").write_text(text, encoding="utf-8")
    return place


def open_base(tmp_path, server, name="k.knot", **options):
    return knotwork.open(
        tmp_path / name,
        embedding_model="none",
        llm_model="openai:small",
        llm_base_url=server.url,
        llm_prices=["openai:* 10 20"],
        **options,
    )


def extract_calls(server):
    prompts = [(call, call.body["messages"][0]["content"]) for call in server.traffic.calls]
    return [call for call, prompt in prompts if "task: extract" in prompt]


def test_a_batch_gives_the_same_graph_at_half_the_price(tmp_path, folder):
    with ModelTestServer() as server:
        with open_base(tmp_path, server, "plain.knot") as base:
            plain = base.index(folder, tier="full")
            wanted = base.stats()
        usual = len(extract_calls(server))
        server.traffic.reset()
        with open_base(tmp_path, server) as base:
            events = list(base.index.run(folder, tier="full", batch=True))
            found = base.stats()
        report = events[-1].value
    steps = [event for event in events if event.note == "batched requests"]
    assert usual == len(NAMES)
    assert len(extract_calls(server)) == 1  # shows which parameters the server takes
    assert len(server.batches.lines()) == len(NAMES) - 1
    assert all(line["body"]["model"] == "small" for line in server.batches.lines())
    assert not any("stream" in line["body"] for line in server.batches.lines())
    assert [event.total for event in steps] == [len(NAMES) - 1] * len(steps)
    assert steps[-1].done == steps[-1].total
    assert (found.entities, found.chunks) == (wanted.entities, wanted.chunks)
    used, usual_use = report.usage["extract"], plain.usage["extract"]
    assert used.input_tokens == usual_use.input_tokens
    assert used.calls == usual_use.calls == len(NAMES)
    assert Decimal("0.5") < report.money / plain.money < Decimal("0.75")


def test_an_interrupted_run_is_continued_and_nothing_is_paid_twice(tmp_path, folder, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with ModelTestServer(batches=BatchPlan(polls=3)) as server:
        with open_base(tmp_path, server) as base, monkeypatch.context() as patch:
            patch.setattr("knotwork._extensions.served_models.batch_reading.sleep", interrupt)
            with pytest.raises(KeyboardInterrupt) as caught:
                base.index(folder, tier="full", batch=True)
        assert caught.value.report.interrupted
        assert len(server.batches.created) == 1
        with open_base(tmp_path, server) as base:
            base.index(folder, tier="full")  # waits without --batch, too
        assert len(server.batches.created) == 1
        assert len(extract_calls(server)) == 1
        with open_base(tmp_path, server) as base:
            again = base.index(folder, tier="full", batch=True)
        assert again.unchanged == len(NAMES)
    assert len(server.batches.created) == 1


@pytest.mark.parametrize("lists", [True, False])
def test_a_batch_that_a_killed_run_did_not_note_is_found_on_the_server(
    tmp_path, folder, monkeypatch, lists
):
    def die(*_):
        raise SystemExit

    with ModelTestServer(batches=BatchPlan(lists=lists)) as server:
        with open_base(tmp_path, server) as base, monkeypatch.context() as patch:
            patch.setattr("knotwork._extensions.served_models.batches.AwaitedRequests.add", die)
            with pytest.raises(SystemExit):
                base.index(folder, tier="full", batch=True)
        # The first request is cached now, so the requests of the batch are the same.
        with open_base(tmp_path, server) as base, monkeypatch.context() as patch:
            patch.setattr(
                "knotwork._extensions.served_models.batch_reading._submit",
                lambda batches, extractor, requests, open_keys: batches.submit(requests),
            )
            base.index(folder, tier="full", batch=True)
    assert len(server.batches.created) == (1 if lists else 2)


@pytest.mark.parametrize(
    "plan",
    [
        BatchPlan(fails=frozenset({0, 2})),
        BatchPlan(drops=frozenset({1, 3})),
        BatchPlan(status="expired", drops=frozenset({1, 3})),
    ],
)
def test_lines_without_a_reply_become_usual_calls(tmp_path, folder, plan):
    with ModelTestServer(batches=plan) as server, open_base(tmp_path, server) as base:
        report = base.index(folder, tier="full", batch=True)
        assert not report.failed
    assert len(extract_calls(server)) == 3
    assert "2 requests of a batch" in " ".join(report.notes)


def test_a_refused_batch_is_an_error_and_the_next_run_may_send_it_again(tmp_path, folder):
    plan = BatchPlan(status="failed")
    with ModelTestServer(batches=plan) as server, open_base(tmp_path, server) as base:
        with pytest.raises(ModelError, match="meant to fail") as caught:
            base.index(folder, tier="full", batch=True)
        assert "--no-batch" in caught.value.fix
        server.batches.plan = BatchPlan()
        assert not base.index(folder, tier="full", batch=True).failed
    assert len(server.batches.created) == 2


def test_no_batch_cancels_what_is_open(tmp_path, folder, monkeypatch):
    with (
        ModelTestServer(batches=BatchPlan(polls=99)) as server,
        open_base(tmp_path, server) as base,
    ):
        with monkeypatch.context() as patch:
            patch.setattr(CallBatches, "collect", lambda self: iter(()))
            steps = base.index.run(folder, tier="full", batch=True)
            next(steps)
            steps.close()
        base.index(folder, tier="full", batch=False)
        assert server.batches.cancelled == ["batch-0"]
    assert len(extract_calls(server)) == len(NAMES)


def test_garbage_in_the_output_costs_only_itself(tmp_path, folder):
    with ModelTestServer() as server, open_base(tmp_path, server) as base:
        get = server.batches.get

        def spoil(path, answer):
            status, body = get(path, answer)
            if isinstance(body, bytes):
                lines = body.splitlines()
                lines[0] = b"\xff{"
                lines[1] = json.dumps({"custom_id": "00", "response": None}).encode()
                body = b"\n".join([*lines, b"null", b"[]", b"[" * 100_000])
            return status, body

        server.batches.get = spoil
        report = base.index(folder, tier="full", batch=True)
        assert not report.failed
    assert len(extract_calls(server)) == 3


def test_a_batch_keeps_to_the_budget(tmp_path, folder):
    with ModelTestServer() as server:
        with open_base(tmp_path, server) as base:
            cost = base.estimate(folder, tier="full", batch=True)
        server.traffic.reset()
        with (
            open_base(tmp_path, server, "b.knot") as base,
            pytest.raises(ModelError, match="budget"),
        ):
            base.index(folder, tier="full", batch=True, budget="1500")
        sent = len(server.batches.lines()) if server.batches.created else 0
    assert sent < len(NAMES) - 1
    assert cost.chunks == len(NAMES)


def test_the_estimate_shows_half_the_price(tmp_path, folder):
    for number in range(20):
        text = f"Person {number} Meyer founded the company Works {number} in Bremen."
        (folder / f"more{number}.txt").write_text(text, encoding="utf-8")
    with ModelTestServer() as server, open_base(tmp_path, server) as base:
        usual = base.estimate(folder, tier="full").run
        half = base.estimate(folder, tier="full", batch=True).run
    assert half.calls == usual.calls > 0
    assert half.money.expected * 2 == pytest.approx(usual.money.expected)


def test_a_document_that_was_deleted_meanwhile_gets_no_reply(tmp_path, folder, monkeypatch):
    with ModelTestServer(batches=BatchPlan(polls=0)) as server, open_base(tmp_path, server) as base:
        with monkeypatch.context() as patch:
            patch.setattr(CallBatches, "collect", lambda self: iter(()))
            base.index(folder, tier="lean")
            steps = base.index.run(folder, tier="full", batch=True)
            next(steps)
            steps.close()
        awaited = "SELECT COUNT(*) FROM awaited"
        with sqlite3.connect(tmp_path / "k.knot.calls") as connection:
            assert connection.execute(awaited).fetchone() == (len(NAMES) - 1,)
        uris = [entry.uri for entry in base.documents()]
        base.delete(uris)
        with sqlite3.connect(tmp_path / "k.knot.calls") as connection:
            assert connection.execute(awaited).fetchone() == (0,)


def test_a_model_without_batches_is_reported(tmp_path, folder):
    with (
        knotwork.open(
            tmp_path / "k.knot", embedding_model="none", chat_model=ScriptedChatModel(["x"])
        ) as base,
        pytest.raises(ConfigError, match="has no batches"),
    ):
        base.index(folder, tier="full", batch=True)


def test_a_server_that_refuses_a_parameter_teaches_it_before_the_batch(tmp_path, folder):
    faults = FaultPlan(refuses=frozenset({"temperature", "max_tokens"}))
    with ModelTestServer(faults=faults) as server, open_base(tmp_path, server) as base:
        report = base.index(folder, tier="full", batch=True)
        assert not report.failed
        assert len(extract_calls(server)) <= 3
        assert all("max_completion_tokens" in line["body"] for line in server.batches.lines())
        assert report.usage["extract"].calls == len(NAMES)


def test_the_command_line_and_the_setting_send_batches(tmp_path, folder):
    with ModelTestServer() as server:
        common = ["--store", str(tmp_path / "k.knot"), "--set", "embedding.model=none"]
        common += ["--set", "llm.model=openai:small", "--set", f"llm.base_url={server.url}"]
        run_command("index", str(folder), "--tier", "full", "--batch", *common)
        assert len(server.batches.created) == 1
        (folder / "Gus.txt").write_text("Gus Meyer left Bremen.", encoding="utf-8")
        with open_base(tmp_path, server, "b.knot", llm_batch=True) as base:
            base.index(folder, tier="full")
    assert len(server.batches.created) == 2


def test_a_retry_sends_unusable_replies_in_a_new_batch(tmp_path, folder):
    with ModelTestServer() as server, open_base(tmp_path, server) as base:
        brain, server.brain = server.brain, lambda messages: "no idea"
        first = base.index(folder, tier="full", batch=True)
        assert first.readings["quarantined"] == len(NAMES)
        before = len(server.batches.created)
        server.brain = brain
        base.index(folder, tier="full", batch=True)
        assert len(server.batches.created) == before
        again = base.index(folder, tier="full", batch=True, retry=True)
        assert not again.readings.get("quarantined")
    assert len(server.batches.created) == before + 1
