"""When watched folders are compared with the index, and what a watched index holds."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._extensions.watching import watch as watching
from knotwork._extensions.watching.watch import MOST_S, RETRY_S, Watch, file_events
from knotwork._run import Stage, Verb
from knotwork.errors import ConfigError, IndexingError, MissingExtra, StoreBusy


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def due_at(steps, *, paths=("/a", "/b"), every_s=600.0):
    """Return when which paths are due, for events as pairs of a time and the changed paths."""
    clock = Clock()

    def events():
        for clock.now, *changed in steps:
            yield set(changed)

    watch = Watch(paths, every_s=every_s, events=events(), clock=clock)
    return [(clock.now, due) for due in watch.due()]


def test_all_paths_are_due_first_and_then_those_with_quiet_changes():
    steps = [(0, "/a/x"), (1, "/b/y"), (1.5, "/b/y"), (2.5,), (3.5,)]
    assert due_at(steps) == [(0, ["/a", "/b"]), (2.5, ["/b"])]


def test_changes_that_never_stop_are_due_after_a_few_seconds():
    steps = [(0,), *((1 + n / 2, "/a/x") for n in range(30))]
    found = [at for at, _ in due_at(steps)]
    assert found == [0, 1 + MOST_S, 6.5 + MOST_S]


def test_all_paths_are_due_on_a_schedule():
    steps = [(0,), (30, "/a/x"), (31,), (59,), (60, "/a/x"), (119,), (120,)]
    expected = [(0, ["/a", "/b"]), (31, ["/a"]), (60, ["/a", "/b"]), (120, ["/a", "/b"])]
    assert due_at(steps, every_s=60) == expected


def test_a_change_behind_a_link_makes_all_paths_due():
    assert due_at([(0,), (1, "/private/a/x"), (2,)])[1:] == [(2, ["/a", "/b"])]


def test_a_change_is_due_in_every_folder_that_holds_it():
    paths = ("/a", "/a/deep", "/ab")
    assert due_at([(0,), (1, "/a/deep/x"), (2,)], paths=paths)[1:] == [(2, ["/a", "/a/deep"])]


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        *[("a.md", True), ("sub/a.md", True), ("", True), (".gitignore", True), ("sub", True)],
        *[("温.txt", True), ("sub/.knotignore", True), ("x.tmp", True)],
        *[("x.knot-wal", False), ("x.knot", False), ("x.knot.map", False), (".a.md.swp", False)],
        *[(".git/index", False), ("node_modules/a/b.md", False), ("~$plan.docx", False)],
    ],
)
def test_events_of_files_that_are_never_indexed_do_not_matter(name, matters):
    assert watching._matters(f"/r/.hidden/{name}".rstrip("/"), ["/r/.hidden"]) is matters


def test_urls_need_no_library_and_folders_name_its_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    Watch(["memory://bucket"], every_s=60)
    with pytest.raises(MissingExtra, match="extra `watch`"):
        Watch([tmp_path], every_s=60)


class Folder:
    """A folder, its index, and steps that change it between two comparisons."""

    def __init__(self, path, monkeypatch):
        self.path = path / "notes"
        self.path.mkdir()
        self.kb = knotwork.open(path / "x.knot", embedder=HashingEmbedder(16))
        self._monkeypatch = monkeypatch

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def watch(self, *steps, paths=None, **options):
        """Yield the events of a comparison at the start and of one after each step."""

        def events(files, *, polling=False):
            yield set()
            for step in steps:
                step()
                yield {"/elsewhere"}  # all paths are due
                yield set()

        self._monkeypatch.setattr(watching, "require_extra", lambda: None)
        self._monkeypatch.setattr(watching, "file_events", events)
        return self.kb.watch.run(*(paths or [self.path]), **options)

    def fresh(self, path):
        with knotwork.open(path, embedder=HashingEmbedder(16)) as kb:
            kb.index(self.path)
            return snapshot(kb.store)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = Folder(tmp_path, monkeypatch)
    made.write("a.md", "# Heron\n\nThe heron of Ann Lee eats fish.\n")
    with made.kb:
        yield made


def outcomes(events):
    kinds = ("added", "changed", "removed", "failed", "stopped")
    return [(str(e.stage), e.subject.rpartition("/")[2]) for e in events if e.stage in kinds]


def test_files_that_come_change_move_and_go_are_indexed(folder):
    steps = [
        lambda: folder.write("b.md", "# Rook\n\nRooks nest in Lund.\n"),
        lambda: folder.write("b.md", "# Rook\n\nRooks nest in Oslo.\n"),
        lambda: (folder.path / "b.md").rename(folder.path / "c.md"),
        (folder.path / "c.md").unlink,
    ]
    assert outcomes(folder.watch(*steps)) == [
        *[("added", "a.md"), ("added", "b.md"), ("changed", "b.md")],
        *[("added", "c.md"), ("removed", "b.md"), ("removed", "c.md")],
    ]


def test_a_moved_folder_is_not_embedded_again(folder):
    for n in range(5):
        folder.write(f"old/{n}.md", f"# The boats of Lund\n\nAnn met Bob number {n}.\n")
    move = lambda: (folder.path / "old").rename(folder.path / "new")  # noqa: E731
    reports = [e.value for e in folder.watch(move) if e.value]
    assert (reports[1].added, len(reports[1].removed)) == (5, 5)
    assert (reports[1].embedded, reports[1].reused > 0) == (0, True)


def test_unfinished_files_of_programs_are_not_indexed(folder, tmp_path):
    names = ("4913", "a.md~", "a.md.swp", "~$a.docx", "~WRL0001.tmp", "a.md.tmp", "#a.md#")
    more = (".a.md.swp", ".DS_Store", "a.pdf.part", "a.pdf.crdownload", ".~lock.a.odt#")

    def write():
        for name in (*names, *more):
            folder.write(name, "Half of a text.")

    assert outcomes(folder.watch(write)) == [("added", "a.md")]
    folder.write(".knotignore", "!*.tmp\n")
    assert folder.kb.index(folder.path).added == 2


def test_a_file_that_grows_while_it_is_read_is_read_again(folder, monkeypatch):
    text = "# Rook\n\nRooks nest in Lund.\n"

    def write():
        folder.write("b.md", text)
        # The run sees the file, and reads it when more has been written.
        monkeypatch.setattr(Path, "read_bytes", grow)

    real = Path.read_bytes

    def grow(path):
        found = real(path)
        if path.name == "b.md":
            monkeypatch.setattr(Path, "read_bytes", real)
            folder.write("b.md", text + "\nThe second half names Carl Berg.\n")
        return found

    list(folder.watch(write, lambda: None))
    assert "Carl Berg" in folder.kb.document("notes/b.md").text


def test_a_missing_folder_keeps_its_documents_and_the_others_go_on(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    away = tmp_path / "away"

    def unmount():
        folder.path.rename(away)
        (other / "o.md").write_text("# Other\n\nOtto is here.\n", encoding="utf-8")

    def mount():
        away.rename(folder.path)
        folder.write("b.md", "# Rook\n\nRooks nest in Lund.\n")

    watched = folder.watch(unmount, lambda: None, mount, paths=[folder.path, other])
    events = list(watched)
    assert outcomes(events) == [
        *[("added", "a.md"), ("added", "o.md"), ("stopped", "notes"), ("stopped", "notes")],
        ("added", "b.md"),
    ]
    stopped = next(e for e in events if e.stage is Stage.STOPPED)
    assert "no longer exists" in stopped.note
    assert len(folder.kb.documents()) == 3


def test_the_empty_place_of_a_disk_keeps_its_documents(folder, tmp_path):
    def unmount():
        folder.path.rename(tmp_path / "away")
        folder.path.mkdir()

    events = list(folder.watch(unmount))
    assert outcomes(events) == [("added", "a.md"), ("stopped", "notes")]
    assert "is empty" in events[-1].note
    with pytest.raises(IndexingError, match="is empty"):
        list(folder.watch())
    assert len(folder.kb.documents()) == 1


def test_a_folder_whose_files_are_deleted_is_emptied(folder):
    assert outcomes(folder.watch((folder.path / "a.md").unlink)) == [
        ("added", "a.md"),
        ("removed", "a.md"),
    ]


def test_a_run_that_fails_is_tried_again(folder, monkeypatch):
    real, calls = type(folder.kb).index, []

    def index(kb, path, **options):
        calls.append(path)
        if len(calls) == 2:
            raise StoreBusy("Another process writes.")
        return (yield from real.run(kb, path, **options))

    monkeypatch.setattr(type(folder.kb), "index", Verb(index))
    clock = Clock()
    monkeypatch.setattr(watching.Watch.__init__, "__kwdefaults__", {
        **watching.Watch.__init__.__kwdefaults__, "clock": clock,
    })  # fmt: skip

    def later():
        clock.now += RETRY_S

    write = lambda: folder.write("b.md", "# Rook\n\nRooks nest in Lund.\n")  # noqa: E731
    assert outcomes(folder.watch(write, later)) == [
        *[("added", "a.md"), ("stopped", "notes"), ("added", "b.md")],
    ]


def test_objects_of_storage_are_compared_on_the_schedule(folder):
    pytest.importorskip("fsspec")
    write = lambda: folder.write("b.md", "# Rook\n\nRooks nest in Lund.\n")  # noqa: E731
    found = outcomes(folder.watch(write, paths=[f"local://{folder.path}"], every_s=0))
    assert found == [("added", "a.md"), ("added", "b.md")]


def test_an_unknown_folder_is_an_error_at_the_start(folder, tmp_path):
    with pytest.raises(IndexingError, match="does not exist"):
        list(folder.watch(paths=[tmp_path / "nothing"]))
    with pytest.raises(ConfigError):
        list(folder.watch(tier="unknown"))


WORDS = (
    "heron",
    "rook",
    "lamp",
    "Ann Lee",
    "Bob Holm",
    "Carl Berg",
    "Lund",
    "Oslo",
    "travel",
    "温青岚",
)


class Changes:
    """Changes of a folder in random order."""

    def __init__(self, root, seed):
        self.root, self.random, self.count = root, random.Random(seed), 0

    def text(self):
        words = " ".join(self.random.choices(WORDS, k=self.random.randint(3, 30)))
        return f"# {self.random.choice(WORDS)}\n\n{words}.\n\nAnn Lee met {words}.\n"

    def make(self, number):
        for _ in range(number):
            self.count += 1
            self.random.choices(
                (self.create, self.edit, self.rename, self.delete, self.move), (5, 4, 3, 2, 1)
            )[0]()

    def files(self):
        return sorted(path for path in self.root.rglob("*") if path.is_file())

    def folders(self):
        return sorted(path for path in self.root.rglob("*") if path.is_dir())

    def place(self):
        names = [self.random.choice("abc") for _ in range(self.random.randint(0, 2))]
        folder = self.root.joinpath(*names)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def create(self):
        ending = self.random.choice((".md", ".txt", ".html"))
        name = f"{self.random.randint(0, 60)}{ending}"
        (self.place() / name).write_text(self.text(), encoding="utf-8")

    def edit(self):
        if files := self.files():
            self.random.choice(files).write_text(self.text(), encoding="utf-8")

    def rename(self):
        if files := self.files():
            file = self.random.choice(files)
            file.rename(self.place() / f"{self.random.randint(0, 60)}{file.suffix}")

    def delete(self):
        if len(files := self.files()) > 1:
            self.random.choice(files).unlink()

    def move(self):
        if folders := self.folders():
            target = self.place() / f"moved{self.random.randint(0, 9)}"
            source = self.random.choice(folders)
            if not target.exists() and source not in (target, *target.parents):
                source.rename(target)


def assert_equal(found, expected):
    """Compare two snapshots, one part after the other, for short messages."""
    assert found.keys() == expected.keys()
    for part, value in expected.items():
        assert found[part] == value, part


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [8, pytest.param(40, marks=pytest.mark.nightly)])
def test_many_changes_in_random_order_leave_a_fresh_index(folder, tmp_path, rounds):
    changes = Changes(folder.path, 3)
    watched = folder.watch(*[lambda: changes.make(25)] * rounds)
    asked = 0
    for number, event in enumerate(watched):
        if number % 40 == 0 and folder.kb.documents():
            asked += len(folder.kb.search(f"Where is {WORDS[number % len(WORDS)]}?", k=3).hits)
        assert event.stage is not Stage.STOPPED, event
    assert changes.count == 25 * rounds
    assert asked > 2.5 * rounds
    assert_equal(snapshot(folder.kb.store), folder.fresh(tmp_path / "fresh.knot"))


WATCH = """
import sys, knotwork
store, folder = sys.argv[1:]
with knotwork.open(store, embedding_model="hashing:16") as kb:
    for event in kb.watch.run(folder):
        print(event.stage, event.subject, flush=True)
"""


def wait_until(condition, *, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(6, marks=pytest.mark.nightly)])
def test_a_watch_that_is_killed_while_files_change_loses_none(tmp_path, kills):
    pytest.importorskip("watchfiles")
    root, store, log = tmp_path / "notes", tmp_path / "x.knot", tmp_path / "log"
    root.mkdir()
    changes = Changes(root, 5)
    changes.make(20)
    for _ in range(kills):
        with log.open("w") as out:
            command = [sys.executable, "-c", WATCH, str(store), str(root)]
            process = subprocess.Popen(command, stdout=out, cwd=Path(__file__).parents[2])
        try:
            wait_until(lambda: "finished" in log.read_text())
            changes.make(15)
            wait_until(lambda: "started" in log.read_text().partition("finished")[2])
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        changes.make(15)
    with knotwork.open(store, embedding_model="hashing:16") as kb:
        kb.index(root)
        found = snapshot(kb.store)
    with knotwork.open(tmp_path / "fresh.knot", embedding_model="hashing:16") as kb:
        kb.index(root)
        assert_equal(found, snapshot(kb.store))


@pytest.mark.slow
@pytest.mark.parametrize("polling", [False, True])
def test_events_of_the_file_system_arrive(tmp_path, monkeypatch, polling):
    pytest.importorskip("watchfiles")
    monkeypatch.setattr(watching, "QUIET_S", 0.2)
    monkeypatch.setattr(watching, "_POLL_S", 0.2)
    root, late = tmp_path / "notes", tmp_path / "late"
    root.mkdir()
    events = file_events([str(root), str(late)], polling=polling)

    def changed(path):
        end = time.monotonic() + 30
        while str(path) not in (found := next(events)):
            assert time.monotonic() < end, found

    changed(root)
    (root / "a.md").write_text("a")
    changed(root / "a.md")
    (root / "deep" / "er").mkdir(parents=True)
    changed(root / "deep")
    (root / "deep" / "er" / "b.md").write_text("b")
    changed(root / "deep" / "er" / "b.md")
    late.mkdir()
    changed(late)
    (late / "c.md").write_text("c")
    changed(late / "c.md")
    shutil.rmtree(root)
    changed(root)
    root.mkdir()
    changed(root)
    os.utime(late / "c.md", times=(time.time() + 9,) * 2)  # polling sees later times only
    changed(late / "c.md")
