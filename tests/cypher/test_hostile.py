"""No statement changes the index, reads a file, or takes much longer than it may."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cypher.hostile import bombs, reaching_out, smuggled, writes

from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import QueryRefused, QuerySyntaxError, QueryTimeout
from knotwork.records import PropertyNode, Relationship

pytestmark = pytest.mark.slow


_PEOPLE = 24
_TIMEOUT_S = 0.05
_LATE_S = 3.0
_opened: list[str] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event in (
        "open",
        "os.listdir",
        "socket.connect",
        "subprocess.Popen",
    ):
        _opened.append(f"{event} {arguments[0]}")


sys.addaudithook(_watch)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hostile") / "index.knot"
    store = EmbeddedStore.open(made, create=True)
    add_document(store, "a.md", ["Ada", "Bob"], link=True)
    nodes = [
        PropertyNode(str(i), ("Person",), {"name": f"person {'a' * i}!"}) for i in range(_PEOPLE)
    ]
    edges = [
        Relationship(f"{i}-{j}", "KNOWS", str(i), str(j))
        for i in range(_PEOPLE)
        for j in range(_PEOPLE)
        if i != j
    ]
    store.property_graphs.put("people", nodes, edges)
    store.close()
    return made


@pytest.fixture(scope="module")
def store(path: Path) -> Iterator[EmbeddedStore]:
    opened = EmbeddedStore.open(path)
    for graph in ("people", ""):  # what is read lazily is read before files are watched
        opened.cypher("MATCH (n)-[r]->() RETURN count(r), max(n.name)", graph=graph)
    gc.freeze()  # or a statement that makes many lists pays for a look at what other tests left
    yield opened
    gc.unfreeze()
    opened.close()


def _run(store: EmbeddedStore, statement: str, given: dict[str, object], graph: str) -> str:
    """Run a statement; return what became of it, having made sure that it did nothing else."""
    global _opened  # noqa: PLW0603 - an audit hook takes no other argument
    before, contents = store.generation(), Path(store.url).read_bytes()
    started_s = time.thread_time()  # of this thread alone: others may hold the machine up
    _opened = []
    try:
        result = store.cypher(statement, given, graph=graph, timeout_s=_TIMEOUT_S, row_limit=50)
        outcome = "answered"
        assert len(result.rows) <= 50
    except (QueryRefused, QuerySyntaxError, QueryTimeout) as error:
        outcome = type(error).__name__
    finally:
        touched, _opened = _opened, None
    assert time.thread_time() - started_s < _TIMEOUT_S + _LATE_S
    assert touched == []
    assert store.generation() == before
    assert Path(store.url).read_bytes() == contents
    return outcome


@pytest.mark.parametrize("statement", writes(), ids=str)
def test_nothing_writes(store: EmbeddedStore, statement: str) -> None:
    for graph in ("", "people"):
        assert _run(store, statement, {}, graph) in ("QueryRefused", "QuerySyntaxError")


@pytest.mark.parametrize("statement", reaching_out(), ids=str)
def test_nothing_reaches_out(store: EmbeddedStore, statement: str) -> None:
    outcome = _run(store, statement, {"url": "file:///etc/passwd"}, "people")
    if outcome == "answered":
        result = store.cypher(statement, {}, graph="people")
        assert all(value is None for row in result.rows for value in row)


@pytest.mark.parametrize(("statement", "given"), smuggled(), ids=str)
def test_nothing_is_smuggled_in(
    store: EmbeddedStore, statement: str, given: dict[str, object]
) -> None:
    _run(store, statement, given, "people")
    (row,) = store.cypher("MATCH (n) RETURN count(n)", graph="people").rows
    assert row == (_PEOPLE,)


@pytest.mark.parametrize("statement", bombs(), ids=lambda text: text[:60])
def test_nothing_takes_all_there_is(store: EmbeddedStore, statement: str) -> None:
    _run(store, statement, {}, "people")


def test_there_are_enough_of_them() -> None:
    counts = [len(found) for found in (writes(), reaching_out(), smuggled(), bombs())]
    assert sum(counts) >= 200
    assert min(counts) >= 40
