"""Permission to index: only files in the folders that were allowed at start."""

import os

import pytest

from knotwork.errors import ConfigError, IndexingError
from knotwork.mcp_server import Permissions


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "allowed"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "note.md").write_text("Inside.", "utf-8")
    (tmp_path / "secret.md").write_text("Outside.", "utf-8")
    (tmp_path / "allowed-too").mkdir()
    return folder


def test_nothing_may_be_written_by_default():
    assert not Permissions().may_index
    assert not Permissions(write=True).may_index


def test_folders_without_writing_are_a_mistake(folder):
    with pytest.raises(ConfigError, match="writing is not allowed"):
        Permissions(folders=(folder,))


def test_allowed_paths_must_be_folders(folder):
    for path in (folder / "none", folder / "deep" / "note.md"):
        with pytest.raises(ConfigError, match="not a folder"):
            Permissions(write=True, folders=(path,))


def test_paths_inside_are_admitted_by_any_name(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    allowed = Permissions(write=True, folders=(folder.relative_to(folder.parent),))
    assert allowed.admit([]) == [folder]
    note = folder / "deep" / "note.md"
    assert allowed.admit([str(note), "deep/note.md", "deep/../deep/note.md", "."]) == [
        note, note, note, folder,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "deep/../../secret.md",
        "/etc/passwd",
        "/",
        "..",
        "~",
        "../allowed-too",
        "missing.md",
        "*.md",
        "deep/*",
        "deep/note.md\0",
        "link.md",
        "linked/secret.md",
        "linked",
    ],
)
def test_everything_else_is_refused_in_the_same_words(path, folder):
    (folder / "link.md").symlink_to(folder.parent / "secret.md")
    (folder / "linked").symlink_to(folder.parent, target_is_directory=True)
    allowed = Permissions(write=True, folders=(folder,))
    with pytest.raises(IndexingError, match="is not in a folder that may be indexed"):
        allowed.admit(["deep/note.md", path])
    with pytest.raises(IndexingError, match="is not in a folder that may be indexed"):
        allowed.admit([os.path.join(folder, path)])  # noqa: PTH118 - as a client may write it


def test_each_of_several_folders_is_looked_in(folder):
    second = folder.parent / "allowed-too"
    (second / "other.md").write_text("Other.", "utf-8")
    allowed = Permissions(write=True, folders=(folder, second))
    assert allowed.admit(["other.md", "deep"]) == [second / "other.md", folder / "deep"]
