"""`KnowledgeBase.copy`: an index in another store, which answers and grows as its source does."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from tests.inference.chat_fakes import ask as ask_model
from tests.knowledge_base.damaged_index import QUESTIONS, ask, build, settings, write_documents

import knotwork
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.upkeep.copies import store_digest
from knotwork._inference.call_cache import CallCache
from knotwork._inference.chat import ChatReply, TokenUsage
from knotwork._sqlite_file import CALLS_SUFFIX, MEMORY_SUFFIX
from knotwork.errors import StoreError, UnknownName

pytestmark = pytest.mark.slow


@pytest.fixture
def index(tmp_path: Path) -> Path:
    write_documents(tmp_path / "docs", count=5)
    build(tmp_path / "index.knot", tmp_path / "docs")
    return tmp_path / "index.knot"


def hits(url: str | Path) -> list[list[tuple[str, float]]]:
    """Return what questions find in an index."""
    with knotwork.open(url, settings=settings(), read_only=True) as kb:
        return [
            [(hit.chunk.id, round(hit.score, 6)) for hit in kb.search(question).hits]
            for question in QUESTIONS
        ]


def test_an_index_moves_to_a_server_and_back(
    index: Path, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    back = tmp_path / "back.knot"
    reply = ChatReply("Ada.", usage=TokenUsage(10, 2, 1))
    with closing(CallCache(f"{index}{CALLS_SUFFIX}")) as calls:
        for number in range(3):
            calls.accept(bytes([number]) * 16, "m", ask_model("?"), reply)
        calls.reject(b"r" * 16, "m", ask_model("?"), reply, "no line")
    with closing(FactMemory(f"{index}{MEMORY_SUFFIX}")) as memory:
        memory.learn(RememberedFact("Ann", "lives in", "Oslo", "2024-01-01"))
    with knotwork.open(index, settings=settings(), read_only=True) as kb:
        report = kb.copy(postgres_url)
    assert report.beside == ("file of facts",)
    with knotwork.open(postgres_url, settings=settings()) as moved:
        assert moved.copy(back).hash == report.hash == store_digest(moved.store).hash
        assert moved.index(tmp_path / "docs").unchanged == 6
        assert moved.communities.stored() != ()
    assert hits(index) == hits(postgres_url) == hits(back)
    tables = []
    for place in (index, postgres_url, back):
        with knotwork.open(place, settings=settings(), read_only=True) as kb:
            tables.append(
                [kb.tables.query(f"SELECT * FROM {t.name}").rows for t in kb.tables.list()]
            )
            assert tables[-1] == tables[0] != []
    with closing(CallCache(f"{back}{CALLS_SUFFIX}")) as calls:
        assert calls.find(bytes(16)) == reply
        assert calls.reply_count() == 3
        assert [rejected.reason for rejected in calls.rejected()] == ["no line"]
        assert calls.total().usage.calls == 4


def test_a_copy_answers_alike_and_goes_on(index: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.knot"
    with knotwork.open(index, settings=settings(), read_only=True) as kb:
        report = kb.copy(target)
        assert report.hash == store_digest(kb.store).hash
    with knotwork.open(target, settings=settings()) as copy:
        assert ask(target) == ask(index)
        assert copy.index(tmp_path / "docs").unchanged == 6
        (tmp_path / "docs" / "new.md").write_text("# New\n\nA new page on Port 9.", "utf-8")
        copy.index(tmp_path / "docs")
    with knotwork.open(index, settings=settings()) as kb:
        kb.index(tmp_path / "docs")
        with knotwork.open(target, settings=settings(), read_only=True) as copy:
            differing = store_digest(kb.store).differing(store_digest(copy.store))
    assert set(differing) <= {"ledger", "settings"}


def test_a_copy_is_awaited(index: Path, tmp_path: Path) -> None:
    async def copy() -> str:
        async with knotwork.open_async(index, settings=settings()) as kb:
            return (await kb.copy(tmp_path / "copy.knot")).hash

    with knotwork.open(index, settings=settings()) as kb:
        assert asyncio.run(copy()) == store_digest(kb.store).hash


def test_uncopyable_parts_are_refused(index: Path, tmp_path: Path) -> None:
    with knotwork.open(index, settings=settings()) as kb:
        with pytest.raises(UnknownName, match="store scheme") as caught:
            kb.copy("elsewhere://user:secret@host/index")
        assert "secret" not in str(caught.value)
        with pytest.raises(StoreError, match="to itself"):
            kb.copy(index)
        with pytest.raises(UnknownName, match="communities"):
            kb.copy(tmp_path / "copy.knot", without=["reports"])
        assert not (tmp_path / "copy.knot").exists()
