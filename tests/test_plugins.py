"""Plugins in an installation: the example package, and plugins that cannot be used."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.installed import install

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "knotwork-ini"
SERVER = "[pool]\nmax_connections = 40\n\n[cache]\nsize = 3 GB\n"
INI_SETTINGS = ("embedding.model=none", "index.extractor=ini")


def run(site, *arguments, cwd):
    """Run Python with a folder of installed distributions on its path."""
    path = os.pathsep.join([str(site), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        cwd=cwd,
        timeout=300,
        check=False,
    )


RUN_LINES = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
sys.modules["rapidocr"] = None  # no plugin, and seconds of a doctor
from knotwork._cli.main import run
done = []
for line in json.loads(sys.argv[1]):
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run(line)
    done.append({"returncode": code, "stdout": out.getvalue(), "stderr": err.getvalue()})
print(json.dumps(done))
"""


def knotwork(site, *lines, cwd, settings=("embedding.model=none",)):
    """Run command lines in one process, and return what each printed and its exit code."""
    options = [part for setting in settings for part in ("--set", setting)]
    sent = json.dumps([[*line, *options] for line in lines])
    done = run(site, "-c", RUN_LINES, sent, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return [SimpleNamespace(**found) for found in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder in which the example package is installed."""
    site = tmp_path_factory.mktemp("site")
    command = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    options = ("--disable-pip-version-check", "--no-cache-dir", "--target", str(site))
    done = run(site, *command, *options, str(EXAMPLE), cwd=site)
    assert done.returncode == 0, done.stderr
    return site


@pytest.fixture(scope="module")
def index(example, tmp_path_factory):
    """A folder with an index of two INI files and a text."""
    folder = tmp_path_factory.mktemp("work")
    files = folder / "files"
    files.mkdir()
    (files / "server.ini").write_text(SERVER)
    (files / "note.txt").write_text("The pool of the village opens in May.")
    (files / "client.ini").write_text("[view]\ntheme = dark\n")
    line = ("index", "files", "--store", "x.knot", "--json")
    (done,) = knotwork(example, line, cwd=folder, settings=INI_SETTINGS)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["added"], report["skipped"]) == (3, [])
    return folder


def test_the_example_has_fewer_than_sixty_lines_of_code():
    lines = (EXAMPLE / "knotwork_ini.py").read_text().splitlines()
    assert sum(1 for line in lines if line.strip()) < 60


def test_the_tests_of_the_example_pass(example, tmp_path):
    options = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", ".")
    done = run(example, "-m", "pytest", *options, str(EXAMPLE), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_parts_are_listed_with_their_distribution(example, tmp_path):
    lines = (("retrievers",), ("retrievers", "--json"), ("doctor", "--json"))
    shown, listed, checked = knotwork(example, *lines, cwd=tmp_path)
    (line,) = [line for line in shown.stdout.splitlines() if line.split()[:1] == ["options"]]
    assert "Finds the passages about the options" in line
    assert line.rstrip().endswith("from knotwork-ini 0.1.0")
    listed = json.loads(listed.stdout)
    assert listed["retrievers"]["options"]["distribution"] == "knotwork-ini"
    assert listed["retrievers"]["bm25"]["distribution"] == "knotwork"
    assert listed["faults"] == []
    details = [c["detail"] for c in json.loads(checked.stdout)["checks"] if c["name"] == "Plugins"]
    assert details == [
        "knotwork-ini 0.1.0: retriever `options`, loader `ini`, extractor `ini`",
    ]


def test_its_retriever_answers_from_what_its_loader_and_extractor_read(example, index):
    question = "What is max_connections?"
    line = ("--store", "x.knot", "--retriever", "options", "--json")
    lines = [(command, question, *line) for command in ("search", "ask")]
    found, answer = (json.loads(d.stdout) for d in knotwork(example, *lines, cwd=index))
    assert [hit["document"] for hit in found["hits"]] == ["files/server.ini"]
    assert "max_connections = 40" in answer["answer"]


def test_it_takes_part_in_compositions_and_filters(example, index):
    line = ("search", "size", "--store", "x.knot", "--json", "--retriever")
    lines = (
        (*line, "options + bm25", "--where", "format = ini"),
        (*line, "options > budget(tokens=500)"),
        (*line, "rewrite > options"),
    )
    for done in knotwork(example, *lines, cwd=index):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["hits"][0]["document"] == "files/server.ini"


def test_the_index_is_current_until_the_extractor_changes(example, index):
    line = ("index", "files", "--store", "x.knot", "--json")
    (done,) = knotwork(example, line, cwd=index, settings=INI_SETTINGS)
    report = json.loads(done.stdout)
    assert (report["unchanged"], report["added"]) == (3, 0)


def test_workers_use_it(example, index):
    program = (
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from knotwork._indexing.loaders.loader_registry import load_file\n"
        "from knotwork._indexing.prepare import Preparer, Recipe, SourceFile\n"
        "from knotwork.plugins import make_extractor, make_splitter\n"
        "recipe = Recipe(make_splitter(), make_extractor('ini'))\n"
        "preparer = Preparer(recipe, workers=1, total_bytes=0)\n"
        "read = partial(load_file, Path('files/server.ini'), uri='server.ini')\n"
        "preparer.begin(SourceFile('server.ini', read))\n"
        "made = preparer.take()\n"
        "assert preparer.is_up\n"
        "preparer.close()\n"
        "labels = [b.label for b in made.document.blocks if b.level]\n"
        "print(labels, made.extractions[0].mentions[-1].type)\n"
    )
    done = run(example, "-c", program, cwd=index)
    assert done.stdout.strip() == "['pool', 'cache'] option", done.stderr


def test_nothing_but_the_plugins_in_use_is_imported(example, index):
    program = (
        "import sys\n"
        "from knotwork import _registry\n"
        "from knotwork._cli.main import run\n"
        "for line in sys.argv[1:]:\n"
        "    run(line.split('|'))\n"
        "scans = _registry.installed_plugins.cache_info().misses\n"
        "print(scans, 'knotwork_ini' in sys.modules, file=sys.stderr)\n"
    )
    store = ("--store", "x.knot")
    unused = ("bm25", "bm25 + graph > prune", "auto")
    searches = [("search", "size", "--retriever", name, *store) for name in (*unused, "options")]
    for lines, scans, imported in (
        ([("--help",)], 1, False),
        ([("documents", *store), *searches[:-1]], 0, False),
        (searches[-1:], 1, True),
        ([("retrievers",)], 1, True),
    ):
        done = run(example, "-c", program, *map("|".join, lines), cwd=index)
        assert done.stderr.split()[-2:] == [str(scans), str(imported)], (lines, done.stderr)


BAD = '''
class Whole:
    precedes, searches = True, 1

    def retrieve(self, query):
        raise AssertionError

class Retriever:
    """Finds nothing."""

class Loader:
    name, signatures = "bad", ()
    suffixes = (".md", ".new")

    def load(self, source):
        raise AssertionError
'''


@pytest.fixture
def faulty(tmp_path):
    """A folder of installed distributions that cannot be used."""
    site = tmp_path / "site"
    groups = {
        "knotwork.retrievers": {
            "bm25": "bad:Retriever",
            "partial": "bad:Retriever",
            "both": "bad:Whole",
        },
        "knotwork.loaders": {"markdown-2": "bad:Loader"},
        "knotwork.splitters": {"lost": "absent:Splitter"},
        "knotwork.retriever": {"typo": "bad:Retriever"},
    }
    install(site, "bad-parts", groups, modules={"bad.py": BAD})
    groups = {"knotwork.steps": {"same": "bad:Whole"}}
    install(site, "first-steps", groups)
    groups["knotwork.steps"]["both"] = "bad:Whole"
    install(site, "second-steps", groups)
    return site


def test_plugins_that_cannot_be_used_are_reported(faulty, tmp_path):
    checked, shown = knotwork(faulty, ("doctor", "--json"), ("retrievers",), cwd=tmp_path)
    assert checked.returncode == 1
    checks = [check for check in json.loads(checked.stdout)["checks"] if check["name"] == "Plugins"]
    listed = [check["detail"] for check in checks if check["ok"]]
    assert listed == ["bad-parts 1.0: retriever `both`", "second-steps 1.0: step `both`"]
    checks = [check for check in checks if not check["ok"]]
    assert all(check["fix"] for check in checks)
    details = "\n".join(sorted(check["detail"] for check in checks))
    for part in (
        "retriever `bm25` of bad-parts 1.0 cannot be used: knotwork has a retriever of this name",
        "retriever `partial` of bad-parts 1.0 cannot be used: it lacks `retrieve` of `Retriever`",
        "loader `markdown-2` of bad-parts 1.0 cannot be used: files named `*.md` are read by",
        "splitter `lost` of bad-parts 1.0 cannot be used: importing `absent:Splitter` raised",
        "step `same` of second-steps 1.0 cannot be used: first-steps 1.0 has a step of this name",
        "`both` is a retriever and a step, of bad-parts 1.0 and second-steps 1.0",
        "bad-parts 1.0 has entry points in the unknown group `knotwork.retriever`",
    ):
        assert part in details
    assert "retriever `bm25` of bad-parts 1.0" in shown.stderr
    assert "passages with the question's words" in shown.stdout


def test_plugins_that_cannot_be_used_do_not_stop_others(faulty, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.md").write_text("# Lake\n\nThe salt layer is deep.")
    (tmp_path / "files" / "b.new").write_text("The ferry leaves at noon.")
    line = ("--store", "x.knot", "--json")
    names = {"bm25": 0, "partial": 2, "bm25 > same": 2, "nothing": 2}
    searches = [("search", "salt", *line, "--retriever", name) for name in names]
    # What a worker says goes past the streams of the command.
    index = ("-m", "knotwork", "index", "files", *line, "--set", "embedding.model=none")
    done, found = run(faulty, *index, cwd=tmp_path), knotwork(faulty, *searches, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["added"] == 2
    assert "loader `markdown-2` of bad-parts 1.0 cannot be used" in done.stderr
    assert [one.returncode for one in found] == list(names.values()), found


def test_an_error_of_a_plugin_is_reported_as_one_of_that_plugin(tmp_path):
    raising = """
class Retriever:
    name = "lost"

    def retrieve(self, query):
        return 1 / 0
"""
    site = tmp_path / "site"
    install(site, "lost-parts", {"knotwork.retrievers": {"lost": "lost:Retriever"}},
            modules={"lost.py": raising})  # fmt: skip
    (tmp_path / "a.md").write_text("# Lake\n\nThe salt layer is deep.")
    search = ("search", "salt", "--retriever", "lost", "--json")
    indexed, found = knotwork(site, ("index", "a.md"), search, cwd=tmp_path)
    assert indexed.returncode == 0
    assert found.returncode == 1
    error = json.loads(found.stdout)["error"]
    assert error["code"] == "plugin_error"
    assert error["message"] == "ZeroDivisionError: division by zero"
    assert "plugin `lost-parts 1.0`" in error["fix"]


def test_a_loader_that_returns_no_content_fails_for_its_files_alone(tmp_path):
    wrong = """
from knotwork.plugins import Content

class Loader:
    name, suffixes, signatures = "wrong", (".wrong", ".odd"), ()

    def load(self, source):
        if source.suffix == ".wrong":
            return "a text"
        return Content("The salt layer.", "text/plain", metadata={"year": 1999, "by": " Ilse  T. "})
"""
    site = tmp_path / "site"
    install(
        site,
        "wrong-parts",
        {"knotwork.loaders": {"wrong": "wrong:Loader"}},
        modules={"wrong.py": wrong},
    )
    for name in ("a.wrong", "b.odd", "c.md"):
        (tmp_path / name).write_text("The lake is deep.")
    lines = (
        ("index", "a.wrong", "b.odd", "c.md", "--json"),
        ("documents", "--json"),
        ("search", "salt", "--where", "year = 1999", "--json"),
    )
    done, listed, shown = knotwork(site, *lines, cwd=tmp_path)
    assert json.loads(done.stdout)["added"] == 2
    assert "the wrong loader failed with TypeError: it returned str, not Content" in done.stderr
    listed = [document["uri"] for document in json.loads(listed.stdout)["documents"]]
    assert listed == ["b.odd", "c.md"]
    assert [hit["document"] for hit in json.loads(shown.stdout)["hits"]] == ["b.odd"]
