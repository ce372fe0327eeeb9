import os
from pathlib import Path

import pytest

from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.sources import UNKNOWN_TIME_NS, discover
from knotwork.errors import IndexingError, LoadError


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def uris(paths, **options):
    return [source.uri for source in discover(paths, **options)]


@pytest.fixture
def docs(tmp_path):
    root = tmp_path / "docs"
    make(root, "b.md", "a.txt", "sub/c.md", "sub/deep/d.pdf", "B.md")
    return root


def test_uris_begin_with_the_folder_and_are_sorted(docs):
    expected = ["docs/B.md", "docs/a.txt", "docs/b.md", "docs/sub/c.md", "docs/sub/deep/d.pdf"]
    assert uris([docs]) == expected
    assert uris([str(docs) + "/"]) == expected
    assert uris([docs / "sub" / ".."]) == expected


def test_sources_say_how_changes_are_detected(docs):
    source = next(discover([docs / "a.txt"]))
    status = (docs / "a.txt").stat()
    assert (source.uri, source.size) == ("a.txt", status.st_size)
    assert (source.path, source.modified_ns) == (docs / "a.txt", status.st_mtime_ns)
    assert next(discover([docs])).root == str(docs)


def test_the_working_folder_has_its_name(docs, monkeypatch):
    monkeypatch.chdir(docs)
    assert uris(["."]) == uris([docs])
    assert uris(["sub"]) == ["sub/c.md", "sub/deep/d.pdf"]


def test_globs_give_the_uris_of_their_folder(docs, monkeypatch):
    assert uris([f"{docs}/*.md"]) == ["docs/B.md", "docs/b.md"]
    assert uris([f"{docs}/**/*.md"]) == ["docs/B.md", "docs/b.md", "docs/sub/c.md"]
    assert uris([f"{docs}/s*"]) == ["docs/sub/c.md", "docs/sub/deep/d.pdf"]
    monkeypatch.chdir(docs.parent)
    assert uris(["docs/*.txt"]) == ["docs/a.txt"]


def test_include_and_exclude(docs):
    assert uris([docs], include=["*.md"]) == ["docs/B.md", "docs/b.md", "docs/sub/c.md"]
    assert uris([docs], include=["sub/"]) == ["docs/sub/c.md", "docs/sub/deep/d.pdf"]
    assert uris([docs], exclude=["sub/", "B.md"]) == ["docs/a.txt", "docs/b.md"]
    assert uris([docs], include=["*.md"], exclude=["/b.md"]) == ["docs/B.md", "docs/sub/c.md"]
    assert uris([docs / "a.txt"], exclude=["*"]) == ["a.txt"]


def test_ignore_files_hold_for_their_folder_and_the_deeper_decides(docs):
    make(docs, "sub/keep.tmp", "x.tmp", "sub/deep/y.tmp", "other/z.log")
    (docs / ".gitignore").write_text("*.tmp\n/other/\n# comment\n")
    (docs / "sub" / ".knotignore").write_text("!keep.tmp\n/deep/*.pdf\n")
    assert uris([docs]) == [
        "docs/B.md",
        "docs/a.txt",
        "docs/b.md",
        "docs/sub/c.md",
        "docs/sub/keep.tmp",
    ]
    assert "docs/sub/keep.tmp" not in uris([docs], exclude=["*.tmp"])
    (docs / ".knotignore").write_text("!x.tmp\n")
    assert "docs/x.tmp" in uris([docs])


def test_hidden_and_foreign_folders_are_left_out(docs):
    make(docs, ".git/config", ".hidden", "node_modules/x.js", "env/pyvenv.cfg", "env/lib/x.py")
    make(docs, "~$a.docx", "Thumbs.db", "index.knot", "index.knot-wal", "__pycache__/x.pyc")
    assert len(uris([docs])) == 5


def test_links_are_followed_once(docs, tmp_path):
    outside = tmp_path / "outside"
    make(outside, "o.md")
    (outside / "back").symlink_to(docs)
    (docs / "loop").symlink_to(docs)
    (docs / "again").symlink_to(docs / "sub")
    (docs / "link").symlink_to(outside)
    (docs / "link2").symlink_to(outside)
    (docs / "gone.md").symlink_to(docs / "nowhere.md")
    found = uris([docs])
    assert "docs/link/o.md" in found
    assert len(found) == 5 + 1 + 1
    gone = next(source for source in discover([docs]) if source.uri == "docs/gone.md")
    assert (gone.size, gone.modified_ns) == (0, UNKNOWN_TIME_NS)
    with pytest.raises(LoadError) as caught:
        load_file(gone.path, uri=gone.uri)
    assert caught.value.reason == "missing"


def test_a_path_named_twice_is_yielded_once(docs):
    assert uris([docs, docs, f"{docs}/*.md"]) == uris([docs])


def test_two_files_of_one_uri_are_refused(docs, tmp_path):
    make(tmp_path / "other" / "docs", "a.txt")
    with pytest.raises(IndexingError, match=r"both be called `docs/a.txt`"):
        uris([docs, tmp_path / "other" / "docs"])


@pytest.mark.parametrize("name", ["nowhere", "nowhere/*.md"])
def test_a_path_that_does_not_exist_is_an_error(tmp_path, name):
    with pytest.raises(IndexingError, match="nowhere"):
        uris([tmp_path / name])


def test_files_that_cannot_be_opened_are_listed_for_the_report(docs, monkeypatch):
    listing = os.scandir

    def scandir(path):
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert uris([docs])[-1] == "docs/sub"


def test_special_files_are_offered_and_refused(docs):
    os.mkfifo(docs / "pipe.txt")
    source = next(source for source in discover([docs]) if source.uri == "docs/pipe.txt")
    with pytest.raises(LoadError) as caught:
        load_file(source.path, uri=source.uri)
    assert caught.value.reason == "not_a_file"


def test_names_that_are_no_text_get_a_uri_that_is(docs):
    (docs / os.fsdecode(b"caf\xe9.md")).write_text("x")
    assert "docs/caf\ufffd.md" in uris([docs])


def test_deep_folders_are_walked(docs):
    deep = docs.joinpath(*["d"] * 300)
    make(deep, "x.md")
    assert uris([docs], include=["x.md"])[0].count("/") == 301


def test_a_pattern_matches_a_name_that_is_no_text(docs):
    (docs / os.fsdecode(b"caf\xe9.md")).write_text("x")
    excluded = {source.uri for source in discover([docs], exclude=["caf?.md"])}
    assert "docs/caf\ufffd.md" not in excluded
