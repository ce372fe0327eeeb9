"""The official client against `knotwork mcp` as a process: standard streams, streamable HTTP."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from tests.cli.running import knotwork as run_knotwork

import knotwork
from knotwork._run import Verb
from knotwork.mcp_server import Permissions, build_server

pytestmark = pytest.mark.slow


QUESTION = "Who approves trips abroad?"
TIMEOUT_S = 60


def environment():
    return {**os.environ, "KNOTWORK_EMBEDDING_MODEL": "none", "PYTHONWARNINGS": "error"}


def over_stdio(*arguments):
    command = ["-m", "knotwork", "mcp", *map(str, arguments)]
    return StdioServerParameters(command=sys.executable, args=command, env=environment())


@contextmanager
def over_http(*arguments):
    """Yield the address of a server process, and stop it as Ctrl-C does."""
    command = [sys.executable, "-m", "knotwork", "mcp", "--http", "--port", "0"]
    process = subprocess.Popen(
        [*command, *map(str, arguments)], env=environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        told = process.stderr.readline()
        assert "http://127.0.0.1:" in told, told + process.stderr.read()
        yield told.split()[1].rstrip(";")
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) in (0, 130), process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture
def docs(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(6):
        text = f"# Note {number}\n\nAda Lovelace wrote note {number} in London."
        (docs / f"{number}.md").write_text(text, "utf-8")
    return docs


async def use_everything(client, docs):
    """Index with progress, ask, read what is cited, and be refused; return the replies."""
    steps = []

    async def note(progress, total, message):
        steps.append((progress, total, message))

    done = await client.call_tool("index", {"paths": ["."]}, progress_callback=note)
    assert done.structured_content["added"] == 6, done
    answer = await client.call_tool("ask", {"question": "Who wrote note 3?"})
    source = answer.structured_content["sources"][0]
    (content,) = (await client.read_resource(source["resource"])).contents
    assert content.text == source["quote"]
    refused = await client.call_tool("index", {"paths": [str(docs.parent)]})
    assert refused.is_error
    assert "may be indexed" in refused.content[0].text
    groups = await client.call_tool("communities", {})
    assert not groups.is_error, groups.content
    return steps


def check_progress(steps):
    counts = [step[0] for step in steps]
    assert counts == sorted(set(counts)), "progress grows with every message"
    assert {f"added: docs/{number}.md" for number in range(6)} <= {step[2] for step in steps}
    assert steps[0][:2] == (0, 6)


def test_the_tools_over_standard_streams(tmp_path, docs):
    async def run():
        server = over_stdio("--store", tmp_path / "kb.knot", "--write", "--allow", docs)
        async with Client(server, read_timeout_seconds=TIMEOUT_S) as client:
            return await use_everything(client, docs)

    check_progress(asyncio.run(run()))


def test_the_tools_over_http(tmp_path, docs):
    async def run(address):
        async with Client(address, read_timeout_seconds=TIMEOUT_S) as client:
            return await use_everything(client, docs)

    with over_http("--store", tmp_path / "kb.knot", "--write", "--allow", docs) as address:
        check_progress(asyncio.run(run(address)))


def test_an_older_client_is_understood_and_many_are_served_at_once(sample_index):
    async def ask(address, mode):
        async with Client(address, mode=mode, read_timeout_seconds=TIMEOUT_S) as client:
            result = await client.call_tool("ask", {"question": QUESTION})
            return result.structured_content["text"]

    async def run(address):
        return await asyncio.gather(*(ask(address, m) for m in ("legacy", "auto") * 4))

    with over_http("--store", sample_index) as address:
        assert len(set(asyncio.run(run(address)))) == 1
        # A page of another origin, or a name that was bound to this address, gets nothing.
        for headers in ({"Origin": "https://example.com"}, {"Host": "example.com"}):
            answer = httpx2.post(
                address,
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                headers={"Accept": "application/json, text/event-stream", **headers},
            )
            assert answer.status_code in (403, 421)
        port = address.split(":")[2].split("/")[0]
        taken = run_knotwork("mcp", "--http", "--port", port, "--store", sample_index)
        assert (taken.code, f"port {port}" in taken.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--store", "none.knot"], "none.knot"),
        (["--allow", "."], "writing is not allowed"),
        (["--write", "--allow", "nowhere"], "not a folder"),
        (["--json"], "does not support --json"),
    ],
)
def test_an_unservable_request_is_explained_and_ends(arguments, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run_knotwork("mcp", *arguments)
    assert outcome.code == 2
    assert told in outcome.err
    if arguments == ["--json"]:
        assert told in outcome.json["error"]["message"]


def test_a_cancelled_run_ends_and_keeps_what_it_finished(tmp_path, docs, monkeypatch):
    reached, go_on = threading.Event(), threading.Event()
    index = knotwork.KnowledgeBase.index

    def halting(self, paths, **options):
        """Index, and wait after the first step until somebody has cancelled."""
        with index.run(self, paths, **options) as run:
            yield next(run)
            reached.set()
            go_on.wait(TIMEOUT_S)
            return (yield from run)

    async def run():
        async with knotwork.open_async(tmp_path / "kb.knot", embedding_model="none") as kb:
            server = build_server(kb, Permissions(write=True, folders=(docs,)))
            async with Client(server) as client:
                monkeypatch.setattr(knotwork.KnowledgeBase, "index", Verb(halting))
                task = asyncio.create_task(client.call_tool("index", {}))
                await asyncio.to_thread(reached.wait, TIMEOUT_S)
                task.cancel()
                for _ in range(50):  # until the cancellation has gone all the way
                    await asyncio.sleep(0)
                go_on.set()
                with pytest.raises(asyncio.CancelledError):
                    await task
                kept = len(await kb.documents())
                monkeypatch.setattr(knotwork.KnowledgeBase, "index", index)
                done = await client.call_tool("index", {})
            assert done.structured_content["unchanged"] == kept < 6
            assert done.structured_content["documents"] == 6

    asyncio.run(run())
