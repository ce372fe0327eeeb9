"""The mirror of an index in a real graph database: equal, resumable, and refused when it is not."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest
from tests.graph_servers.conftest import PASSWORD, ArcadeServer, Line, with_password
from tests.graph_servers.gold_statements import GOLD, has_order

import knotwork
from knotwork import KnowledgeBase, demo
from knotwork._config import load_settings
from knotwork._extensions.cypher.store_graphs import project_store
from knotwork._extensions.graphs.servers import bolt_connection
from knotwork._extensions.graphs.servers.bolt_connection import BoltConnection, BoltStatement
from knotwork._extensions.graphs.servers.mirror import LABELS, SOURCES, MirrorContent, clean
from knotwork._extensions.graphs.servers.server_address import read_address
from knotwork.errors import (
    ConfigError,
    GraphServerError,
    GraphServerUnavailable,
    MirrorOutdated,
    QueryRefused,
    StoreBusy,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of the sample, with communities and questions."""
    path = tmp_path_factory.mktemp("mirror") / "sample.knot"
    with (
        knotwork.open(path, embedding_model="none", index_questions="rules") as kb,
        demo.open_sample() as folder,
    ):
        kb.index(folder)
        kb.communities.update()
    return path


@pytest.fixture
def index(sample: Path, tmp_path: Path) -> Path:
    """Return a copy of the sample index."""
    path = tmp_path / "index.knot"
    shutil.copy(sample, path)
    return path


def _open(index: Path, database: str, *, cypher: str = "index") -> KnowledgeBase:
    overrides = {
        "embedding.model": "none",
        "graph.mirror": database,
        "graph.mirror_password": {"env": "MIRROR_KEY"},
        "graph.cypher": cypher,
    }
    return knotwork.open(index, settings=load_settings(overrides=overrides).settings)


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_KEY", PASSWORD)


@dataclass
class Bolt:
    """What a person does in the database, past the index."""

    connection: BoltConnection

    def write(self, text: str, **values: object) -> None:
        self.connection.write([BoltStatement(text, values)])

    def read(self, text: str) -> list[tuple[object, ...]]:
        (rows,) = self.connection.read([BoltStatement(text, {})], row_limit=99, timeout_s=30)
        return rows.rows


@pytest.fixture
def bolt(database: str) -> Iterator[Bolt]:
    connection = BoltConnection(read_address(with_password(database)))
    yield Bolt(connection)
    connection.close()


def test_the_content_equals_that_read_by_cypher(sample):
    with knotwork.open(sample, embedding_model="none") as kb:
        graph = project_store(kb.store)
        content = MirrorContent(kb.store)
        nodes = {
            key: (label, properties)
            for label in LABELS
            for page in content.node_pages(label)
            for key, properties in page.nodes.items()
        }
        edges = {
            (type_, *key): properties
            for type_ in SOURCES
            for page in content.edge_pages(type_)
            for key, properties in page.edges.items()
        }
    assert nodes == {n.id: (n.labels[0], clean(n.properties)) for n in graph.nodes}
    assert len(edges) == graph.relationship_count
    for number in range(graph.relationship_count):
        edge = graph.relationship(number)
        ends = graph.nodes[edge.source].id, graph.nodes[edge.target].id
        key = (edge.type, *ends, edge.properties.get("relation", ""))
        assert edges[key] == clean(edge.properties)


def test_pages_cover_all_ids_without_a_gap(sample, monkeypatch):
    from knotwork._extensions.graphs.servers import mirror

    monkeypatch.setattr(mirror, "NODE_PAGE", 7)
    monkeypatch.setattr(mirror, "EDGE_PAGE", 5)
    monkeypatch.setattr(mirror, "_READ_AT_ONCE", 3)
    with knotwork.open(sample, embedding_model="none") as kb:
        content = MirrorContent(kb.store)
        for label in LABELS:
            pages = list(content.node_pages(label))
            assert [page.low for page in pages] == ["", *(page.high for page in pages[:-1])]
            assert pages[-1].high is None
            assert sum(len(page.nodes) for page in pages) == content.node_count(label)
        counts = content.edge_counts()
        for type_, labels in SOURCES.items():
            pages = list(content.edge_pages(type_))
            assert sum(len(page.edges) for page in pages) == counts[type_]
            for label in labels:
                own = [page for page in pages if page.label == label]
                assert [page.low for page in own] == ["", *(page.high for page in own[:-1])]
                assert own[-1].high is None
                for page in own:
                    assert all(page.low < key.source for key in page.edges)
                    assert page.high is None or all(k.source <= page.high for k in page.edges)


def test_statements_have_the_same_results_on_the_mirror(index, database):
    with _open(index, database) as kb, _open(index, database, cypher="mirror") as mirrored:
        kb.graph.mirror()
        for statement in GOLD:
            expected = kb.graph.cypher(statement, row_limit=10_000, timeout_s=60)
            found = mirrored.graph.cypher(statement, row_limit=10_000, timeout_s=60)
            rows = [[json.dumps(row, sort_keys=True) for row in r.rows] for r in (expected, found)]
            if not has_order(statement):
                rows = [sorted(some) for some in rows]
            assert rows[0] == rows[1], statement
            assert expected.columns == found.columns, statement


@pytest.mark.parametrize(
    "options", [{}, {"depth": 1, "limit": 3}, {"direction": "out"}, {"direction": "in", "fan": 2}]
)
def test_a_walk_has_the_same_result_on_the_mirror(index, database, options):
    with _open(index, database) as kb, _open(index, database, cypher="mirror") as mirrored:
        kb.graph.mirror()
        names = ["Oriane Keld", "Skarrow Station"]
        expected = kb.graph.explore(names, **options)
        assert expected.edges
        assert mirrored.graph.explore(names, **options) == expected


def test_retrievers_by_query_have_the_same_results_on_the_mirror(index, database):
    with _open(index, database) as kb, _open(index, database, cypher="mirror") as mirrored:
        kb.graph.mirror()
        question = "Who is the manager of Oriane Keld?"
        over = (
            "MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name, max(score) AS best ORDER BY e.name"
        )
        for options in ({"retriever": "dynamic_cypher"}, {"retrieval_query": over}):
            expected, found = (base.search(question, **options) for base in (kb, mirrored))
            assert [hit.chunk.id for hit in found.hits] == [hit.chunk.id for hit in expected.hits]
            assert [r.rows for r in found.results] == [r.rows for r in expected.results]
            assert expected.results


def test_a_mirror_is_verified_and_what_differs_is_named(index, database, bolt):
    with _open(index, database) as kb:
        kb.graph.mirror()
        assert kb.graph.verify_mirror().is_current
        (gone,) = bolt.read("MATCH (c:Chunk) RETURN c.id ORDER BY c.id LIMIT 1")
        (other,) = bolt.read("MATCH (e:Entity) RETURN e.id ORDER BY e.id LIMIT 1")
        bolt.write("MATCH (c:Chunk {id: $id}) DETACH DELETE c", id=gone[0])
        bolt.write("MATCH (e:Entity {id: $id}) SET e.name = 'other'", id=other[0])
        bolt.write("CREATE (:Document {id: 'ffff', name: 'surplus'}), (:Stranger {id: 'x'})")
        bolt.write(
            "MATCH (d:Document {id: 'ffff'}), (e:Entity {id: $id}) CREATE (d)-[:ODD]->(e)",
            id=other[0],
        )
        report = kb.graph.verify_mirror()
        assert not report.is_current
        differing = {part.name: part.differences for part in report.differing}
        assert differing["Chunk"] == (f"missing: {gone[0]}",)
        assert differing["Entity"] == (f"different: {other[0]}",)
        assert differing["Document"] == ("surplus: ffff",)
        assert {"Stranger", "ODD", "MENTIONS", "HAS_CHUNK"} <= set(differing)
        with pytest.raises(GraphServerError, match="1 Stranger nodes"):
            kb.graph.mirror(full=True)
        bolt.write("MATCH (s:Stranger) DETACH DELETE s")
        mended = kb.graph.mirror(full=True)
        assert mended.written < 60
        assert kb.graph.verify_mirror().is_current


def test_only_what_changed_is_written(index, database, tmp_path):
    with _open(index, database) as kb:
        first = kb.graph.mirror()
        assert first.written > 1_000
        assert kb.graph.mirror().unchanged
        note = tmp_path / "note.txt"
        note.write_text("Oriane Keld met Wendel Arrowby in Tarnby.", encoding="utf-8")
        kb.index(note)
        added = kb.graph.mirror()
        assert 0 < added.written < 60
        assert kb.graph.verify_mirror().is_current
        kb.delete(note)
        removed = kb.graph.mirror()
        assert removed.removed > 0
        assert kb.graph.verify_mirror().is_current


def test_a_mirror_behind_the_index_is_refused(index, database, tmp_path):
    with _open(index, database, cypher="mirror") as kb:
        with pytest.raises(MirrorOutdated, match="has no mirror"):
            kb.graph.cypher("MATCH (n) RETURN count(n)")
        kb.graph.mirror()
        before = kb.graph.cypher("MATCH (n) RETURN count(n)").rows
        assert kb.graph.cypher("MATCH (n) RETURN n", row_limit=0).truncated
        note = tmp_path / "note.txt"
        note.write_text("Oriane Keld met Wendel Arrowby.", encoding="utf-8")
        kb.index(note)
        for ask in (
            lambda: kb.graph.cypher("MATCH (n) RETURN count(n)"),
            lambda: kb.graph.explore("Oriane Keld"),
            lambda: kb.search("Who is the manager of Oriane Keld?", retriever="dynamic_cypher"),
        ):
            with pytest.raises(MirrorOutdated, match="not of the index as it is now"):
                ask()
        kb.graph.mirror()
        assert kb.graph.cypher("MATCH (n) RETURN count(n)").rows > before


def test_a_stopped_run_is_not_current_and_continues(index, database):
    with _open(index, database, cypher="mirror") as kb:
        steps = kb.graph.mirror.run()
        done = list(islice(steps, 5))
        steps.close()
        assert done[-1].done
        with pytest.raises(MirrorOutdated, match="is not finished"):
            kb.graph.cypher("MATCH (n) RETURN count(n)")
        assert not kb.graph.verify_mirror().is_current
        rest = kb.graph.mirror()
        assert rest.written < 2_000
        assert kb.graph.verify_mirror().is_current


def test_a_run_that_another_one_replaced_writes_nothing_more(index, database):
    with _open(index, database) as kb:
        slow = kb.graph.mirror.run()
        list(islice(slow, 2))
        kb.graph.mirror()
        with pytest.raises(GraphServerError, match="Another run has begun"):
            list(slow)
        assert kb.graph.verify_mirror().is_current


@pytest.fixture
def mortal(request: pytest.FixtureRequest) -> Iterator[ArcadeServer | Line]:
    """Yield a server that may be killed, or the way to the one of all tests, which may be cut."""
    if request.param == "line":
        server: ArcadeServer | Line = Line(request.getfixturevalue("arcade"))
        server.start()
    else:
        server = request.getfixturevalue("start_arcade")()
    yield server
    server.kill()


@pytest.mark.parametrize(
    "mortal", ["line", pytest.param("server", marks=pytest.mark.nightly)], indirect=True
)
def test_a_server_killed_in_the_middle_is_resumed(index, mortal, monkeypatch):
    monkeypatch.setattr(bolt_connection, "RETRY_S", 0.5)
    server = mortal
    database = server.new_database()
    with _open(index, database) as kb:
        steps = kb.graph.mirror.run()
        for step in steps:
            if step.stage == "MENTIONS":
                server.kill()
                break
        with pytest.raises(GraphServerError):
            list(steps)
        with pytest.raises(GraphServerUnavailable, match="cannot be reached"):
            kb.graph.verify_mirror()
        server.start()
        assert not kb.graph.verify_mirror().is_current
        kb.graph.mirror()
        assert kb.graph.verify_mirror().is_current


_KILLED = """
import os, sys
import knotwork
from knotwork._config import load_settings
index, database = sys.argv[1:]
settings = load_settings(overrides={"embedding.model": "none", "graph.mirror": database,
    "graph.mirror_password": {"env": "MIRROR_KEY"}}).settings
for step in knotwork.open(index, settings=settings).graph.mirror.run():
    if step.stage == "RELATES":
        os.kill(os.getpid(), 9)
"""


def test_a_killed_run_is_resumed(index, database, start_process):
    process = start_process([sys.executable, "-c", _KILLED, str(index), database])
    assert process.wait() == -9
    with _open(index, database) as kb:
        assert not kb.graph.verify_mirror().is_current
        assert kb.graph.mirror().written < 1_200
        assert kb.graph.verify_mirror().is_current


def test_an_index_that_changes_meanwhile_is_read_again(index, database):
    with _open(index, database) as kb:
        steps = kb.graph.mirror.run()
        stages = []
        for step in steps:
            stages.append(step.stage)
            if stages.count("Document") == 1 and step.stage == "ANSWERS":
                kb.store.set_meta({"touched": "once"})
        assert stages.count("Document") == 2
        assert kb.graph.verify_mirror().is_current


def test_an_index_that_keeps_changing_has_no_mirror(index, database):
    with _open(index, database) as kb:
        changing = (
            kb.store.set_meta({"touched": str(number)})
            for number, _ in enumerate(kb.graph.mirror.run())
        )
        with pytest.raises(StoreBusy, match="changed each time"):
            list(changing)
        assert not kb.graph.verify_mirror().is_current


def test_a_database_with_other_nodes_is_refused_and_stays_as_it_is(index, database, bolt):
    bolt.write("CREATE (:Person {name: 'Ada'})")
    with _open(index, database) as kb, pytest.raises(GraphServerError, match="not of a mirror"):
        kb.graph.mirror()
    assert bolt.read("MATCH (n) RETURN labels(n), n.name") == [(["Person"], "Ada")]


def test_a_database_with_the_mirror_of_another_index_is_refused(index, sample, database, tmp_path):
    with _open(index, database) as kb:
        kb.graph.mirror()
    other = tmp_path / "other.knot"
    with _open(other, database) as kb, pytest.raises(GraphServerError, match="another index"):
        kb.graph.mirror()


def test_a_filter_and_a_transaction_read_the_index_itself(index, database):
    with _open(index, database, cypher="mirror") as kb:
        part = kb.filtered_store("uri contains kestrel")
        count = "MATCH (d:Document) RETURN count(d)"
        assert part.capabilities.cypher(count).rows == ((1,),)
        with kb.store.transaction():
            assert kb.graph.cypher(count).rows == ((22,),)


def test_the_stamp_is_hidden_from_statements(index, database):
    with _open(index, database, cypher="mirror") as kb:
        kb.graph.mirror()
        stamp = "MATCH (n:KnotworkMirror) RETURN count(n)"
        assert kb.graph.cypher(stamp).rows == ((0,),)
        with pytest.raises(QueryRefused, match="changes the graph"):
            kb.graph.cypher("MATCH (n:KnotworkMirror) DELETE n")


def test_a_mirror_that_is_not_set_or_set_wrongly_is_an_error(index):
    with _open(index, "", cypher="mirror") as kb, pytest.raises(ConfigError, match="No mirror"):
        kb.graph.cypher("RETURN 1")
    with _open(index, "sparql+http://h/q") as kb, pytest.raises(ConfigError, match="speaks Bolt"):
        kb.graph.mirror()
    with pytest.raises(ConfigError, match=r"graph\.cypher"):
        _open(index, "", cypher="elsewhere")


def test_a_wrong_password_is_an_error_that_does_not_show_it(index, database, monkeypatch):
    monkeypatch.setenv("MIRROR_KEY", "wrong-but-hidden")
    with _open(index, database) as kb, pytest.raises(GraphServerError, match="login") as refused:
        kb.graph.mirror()
    assert "hidden" not in str(refused.value)


def test_nothing_is_written_in_a_verification(index, database, bolt):
    with _open(index, database) as kb:
        kb.graph.mirror()
        before = bolt.read("MATCH (m:KnotworkMirror) RETURN properties(m)")
        kb.graph.verify_mirror()
        assert bolt.read("MATCH (m:KnotworkMirror) RETURN properties(m)") == before


def test_an_empty_index_has_a_mirror_too(tmp_path, database):
    with _open(tmp_path / "empty.knot", database, cypher="mirror") as kb:
        assert kb.graph.mirror().written == 0
        assert kb.graph.verify_mirror().is_current
        assert kb.graph.cypher("MATCH (n) RETURN count(n)").rows == ((0,),)


def test_the_report_counts_both_sides(index, database):
    with _open(index, database) as kb:
        kb.graph.mirror()
        parts = {part.name: part for part in kb.graph.verify_mirror().parts}
        counts = kb.stats().graph
        for name, count in {**counts.labels, **counts.edge_types}.items():
            if name != "HAS_CHILD":  # communities have such edges too
                assert parts[name].index_count == parts[name].mirror_count == count
