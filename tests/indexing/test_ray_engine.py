"""An index that is built on Ray equals that of one machine, whatever is killed meanwhile.

Each test has a real cluster of two processors on this machine.
"""

import sys
from contextlib import closing
from functools import partial
from threading import Lock

import pytest
from tests.indexing.ray_parts import (
    ActorEmbedder,
    HereOnly,
    KillingExtractor,
    WastefulExtractor,
    built,
    kill_a_run,
    open_index,
    read_with_lock,
    two_processors,
    write_documents,
)
from tests.indexing.snapshots import snapshot

from knotwork._config import Settings
from knotwork._config.settings import IndexSettings
from knotwork._indexing.prepare import SourceFile
from knotwork._indexing.sources import SourceSelection
from knotwork._indexing.stages import open_engine
from knotwork._run import Run, Stage
from knotwork.errors import ModelError
from knotwork.records import Document
from knotwork.testing import EmbedderContract

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals"),
    # Ray leaves the pipes of the processes that it starts to the interpreter.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    with two_processors() as ray:
        yield ray


@pytest.fixture
def folder(tmp_path):
    return write_documents(tmp_path / "docs")


def test_the_index_equals_one_built_on_one_machine(cluster, tmp_path, folder):
    on_ray = built(tmp_path / "ray.knot", folder)
    here = built(tmp_path / "here.knot", folder, compute="processes")
    assert on_ray == here
    assert on_ray[1] == {"docs/broken.pdf": "broken", "docs/empty.txt": "empty"}


def test_objects_of_a_storage_are_read_by_the_nodes(cluster, tmp_path, folder):
    pytest.importorskip("fsspec")
    on_ray = built(tmp_path / "ray.knot", f"local://{folder}")
    on_one = built(tmp_path / "one.knot", f"local://{folder}", compute="processes")
    here = built(tmp_path / "here.knot", folder, compute="processes")
    assert on_ray == on_one
    assert (on_ray[0]["chunks"], on_ray[1]) == (here[0]["chunks"], here[1])


def test_an_update_reads_what_changed_and_removes_what_is_gone(cluster, tmp_path, folder):
    built(tmp_path / "ray.knot", folder)
    (folder / "00.txt").unlink()
    (folder / "01.txt").write_text("Fay leads Gus.", "utf-8")
    updated = built(tmp_path / "ray.knot", folder)
    assert updated == built(tmp_path / "here.knot", folder, compute="processes")


def test_documents_of_a_killed_process_are_read_again(cluster, tmp_path, folder):
    markers = tmp_path / "killed"
    markers.mkdir()
    extractor = KillingExtractor(markers, once=("02.txt", "17.txt"))
    on_ray = built(tmp_path / "ray.knot", folder, extractor=extractor)
    assert sorted(path.name for path in markers.iterdir()) == ["02.txt", "17.txt"]
    assert on_ray == built(tmp_path / "here.knot", folder, compute="processes")


def test_a_document_that_always_costs_its_process_is_one_failed_file(cluster, tmp_path, folder):
    extractor = KillingExtractor(tmp_path, always=("05.txt",))
    _, failures = built(tmp_path / "ray.knot", folder, extractor=extractor)
    assert failures.pop("docs/05.txt") == "crashed"
    assert failures.keys() == {"docs/broken.pdf", "docs/empty.txt"}


def test_limits_of_files_hold_on_ray(cluster, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("hungry", "endless", "crash", "good"):
        (folder / f"{name}.txt").write_text("Ada meets Bo.", "utf-8")
    options = {
        "extractor": WastefulExtractor(),
        "index_max_file_memory_mb": 200,
        "index_max_file_seconds": 1,
    }
    # Texts this short need no limits on one machine, and have them on Ray.
    _, failures = built(tmp_path / "ray.knot", folder, **options)
    assert failures == {
        "docs/hungry.txt": "out_of_memory",
        "docs/endless.txt": "too_slow",
        "docs/crash.txt": "crashed",
    }


def test_texts_of_a_killed_actor_are_embedded_again(cluster, tmp_path, folder):
    embedder = ActorEmbedder(marker=tmp_path / "killed", deadly="Ada")
    on_ray = built(tmp_path / "ray.knot", folder, embedder=embedder)
    assert (tmp_path / "killed").exists()
    assert on_ray == built(tmp_path / "here.knot", folder, compute="processes")


def test_a_text_that_always_costs_its_actor_stops_the_run(cluster, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("Ada meets Bo.", "utf-8")
    with (
        open_index(tmp_path / "ray.knot", embedder=ActorEmbedder(deadly="Ada")) as kb,
        pytest.raises(ModelError, match="died 4 times"),
    ):
        kb.index(folder)


@pytest.fixture(scope="class")
def actors(cluster):
    settings = Settings(index=IndexSettings(compute="ray"))
    with closing(open_engine(settings)) as engine:
        opened = engine.open_embedder(ActorEmbedder(256))
        assert not opened.is_loaded
        yield opened
        assert opened.is_loaded


class TestRayEmbedder(EmbedderContract):
    """The contract of embedders, kept by actors."""

    @pytest.fixture
    def embedder(self, actors):
        return actors


def test_an_error_of_the_model_ends_the_run(cluster, tmp_path, folder):
    with open_index(tmp_path / "ray.knot", embedder=ActorEmbedder(refused="Ada")) as kb:
        with pytest.raises(ModelError, match="refuses this text"):
            kb.index(folder)
        # What the model does not refuse can be embedded at once.
        assert kb.index(folder.parent / "docs" / "name with \n line.txt").added == 1


def test_a_file_that_no_node_has_is_read_on_the_machine_of_the_run(cluster, tmp_path):
    document = Document("a.txt", "Ada meets Bo.")
    unsendable = Document("b.txt", "Cleo pays Dai.")
    candidates = (
        SourceFile("a.txt", HereOnly(document), size=13),
        SourceFile("b.txt", partial(read_with_lock, Lock(), unsendable), size=14),
    )
    with open_index(tmp_path / "ray.knot") as kb:
        with closing(kb._begin({})) as run:
            report = Run(run.index(SourceSelection(candidates))).result()
        assert (report.added, report.failures) == (2, ())


def test_the_run_goes_on_after_its_process_was_killed(cluster, tmp_path, folder):
    path = tmp_path / "ray.knot"
    kill_a_run(path, folder)
    with open_index(path) as kb:
        stored = set(kb.store.ledger.get([f"docs/{n:02}.txt" for n in range(24)]))
        assert stored
        kb.index(folder)
        resumed = snapshot(kb.store)
    assert resumed == built(tmp_path / "here.knot", folder, compute="processes")[0]


def test_a_run_that_is_left_goes_on_later(cluster, tmp_path, folder):
    with open_index(tmp_path / "ray.knot") as kb:
        events = kb.index.run(folder)
        while next(events).stage is not Stage.STARTED:
            pass
        events.close()
        kb.index(folder)
        assert snapshot(kb.store) == built(tmp_path / "h.knot", folder, compute="processes")[0]


def test_the_index_is_embedded_again_on_ray(cluster, tmp_path, folder):
    with open_index(tmp_path / "ray.knot") as kb:
        kb.index(folder)
        report = kb.embed(ActorEmbedder(32))
        assert report.embedded > 24
        again = snapshot(kb.store)["vectors"]
    with open_index(tmp_path / "here.knot", compute="processes", embedder=ActorEmbedder(32)) as kb:
        kb.index(folder)
        assert snapshot(kb.store)["vectors"] == again
