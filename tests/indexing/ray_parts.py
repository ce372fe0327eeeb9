"""Indexes for tests of Ray, and parts of them that fail in its processes: once, or always.

A part that fails once leaves a file first, which the next attempt finds.
"""

import os
import random
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.indexing.pipeline_fakes import NameExtractor, ParagraphSplitter, make_text
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork.errors import LoadError, ModelError
from knotwork.records import Document

DRIVER = """
import sys
from tests.indexing.ray_parts import open_index
from knotwork._run import Stage

if __name__ == "__main__":
    with open_index(sys.argv[1], compute="ray") as kb:
        for event in kb.index.run(sys.argv[2]):
            if event.stage is Stage.ADDED:
                print("stored", flush=True)
                sys.stdin.readline()
"""
"""The program of a process that indexes on Ray, and waits after each document that is stored."""


def kill_a_run(place, folder):
    """Index a folder in a process that is killed after its first document is stored."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, place, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as driver:
        assert driver.stdout.readline() == "stored\n"
        driver.send_signal(signal.SIGKILL)


@contextmanager
def two_processors():
    """Start two processors of Ray, which an engine finds connected and leaves so."""
    import ray

    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}},
    )
    yield ray
    ray.shutdown()


def is_below_ray():
    return "RAY_RAYLET_PID" in os.environ


def is_first(marker):
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class KillingExtractor(NameExtractor):
    """Kills the process of Ray above its own when it reads a document of these names."""

    def __init__(self, markers, once=(), always=()):
        self.markers, self.once, self.always = str(markers), once, always

    def extract(self, document, chunks):
        name = document.uri.rpartition("/")[2]
        strikes = name in self.once and is_first(f"{self.markers}/{name}")
        if is_below_ray() and (strikes or name in self.always):
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()  # until the death of that process ends this one
        return super().extract(document, chunks)


class WastefulExtractor(NameExtractor):
    """Takes all memory or time at documents that are named for it."""

    def extract(self, document, chunks):
        if document.uri.endswith("hungry.txt"):
            kept = []
            while True:
                kept.append(bytearray(16 << 20))
        while document.uri.endswith("endless.txt"):
            pass
        if document.uri.endswith("crash.txt"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().extract(document, chunks)


class ActorEmbedder(HashingEmbedder):
    """Has a model in its process, which dies at a text: once if there is a ``marker``."""

    is_loaded = False

    def __init__(self, dimension=16, marker="", deadly="", refused=""):
        super().__init__(dimension)
        self.marker, self.deadly, self.refused = str(marker), deadly, refused

    def embed_passages(self, passages):
        for passage in passages:
            if self.refused and self.refused in passage.text:
                raise ModelError("The model refuses this text.")
            is_deadly = is_below_ray() and self.deadly and self.deadly in passage.text
            if is_deadly and (not self.marker or is_first(self.marker)):
                os.kill(os.getpid(), signal.SIGKILL)
        return super().embed_passages(passages)


@dataclass(frozen=True)
class HereOnly:
    """Reads a document whose file no node of the cluster has."""

    document: Document

    def __call__(self):
        if is_below_ray():
            raise LoadError("missing", f"`{self.document.uri}` no longer exists.")
        return self.document


def read_with_lock(lock, document):
    """Return a document; with a lock among its arguments, it cannot be sent to another process."""
    with lock:
        return document


def open_index(path, *, compute="ray", **options):
    return knotwork.open(
        path,
        **{
            "index_compute": compute,
            "index_workers": 2,
            "splitter": ParagraphSplitter(),
            "extractor": NameExtractor(),
            "embedder": ActorEmbedder(),
            **options,
        },
    )


def write_documents(folder):
    """Write small and larger texts, a web page and what cannot be read; return the folder."""
    folder.mkdir()
    for number in range(24):
        text = make_text(random.Random(number), paragraphs=300 if number == 3 else 6)
        (folder / f"{number:02}.txt").write_text(text, "utf-8")
    (folder / "page.html").write_text("<h1>Ada</h1><p>Ada meets Bo in London.</p>", "utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "name with \n line.txt").write_text("Cleo pays Dai.", "utf-8")
    return folder


def built(path, folder, **options):
    """Return what an index holds after a run over the folder, and the failures by file."""
    with open_index(path, **options) as kb:
        report = kb.index(folder)
        failures = {failure.uri: failure.reason for failure in report.failures}
        return snapshot(kb.store), failures
