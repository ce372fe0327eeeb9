"""A new file or folder is on the disk before it gets its name, and its name before a success."""

import os
import stat
from pathlib import Path

import pytest

from knotwork import _durable_files
from knotwork._durable_files import move_file, move_folder, replace_file


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files and folders that are synchronized, and the renames, in their order."""
    found: list[str] = []
    sync, rename, replace = os.fsync, Path.rename, Path.replace

    def note_sync(descriptor: int) -> None:
        found.append(f"sync {Path(f'/dev/fd/{descriptor}').resolve().name}")
        sync(descriptor)

    def note_move(move, word):  # type: ignore[no-untyped-def]
        def run(self: Path, target: Path) -> Path:
            found.append(word)
            return move(self, target)

        return run

    monkeypatch.setattr(_durable_files.os, "fsync", note_sync)
    monkeypatch.setattr(Path, "rename", note_move(rename, "rename"))
    monkeypatch.setattr(Path, "replace", note_move(replace, "rename"))
    return found


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="names of open files are read there")
def test_content_reaches_the_disk_before_its_name(tmp_path: Path, order: list[str]) -> None:
    (tmp_path / "new").write_text("text")
    move_file(tmp_path / "new", tmp_path / "old")
    assert order == ["sync new", "rename", f"sync {tmp_path.name}"]


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="names of open files are read there")
def test_a_folder_gets_its_name_after_its_files(tmp_path: Path, order: list[str]) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a").write_text("text")
    move_folder(tmp_path / "new", tmp_path / "done")
    assert order == ["sync a", "sync new", "rename", f"sync {tmp_path.name}"]


def test_an_error_leaves_the_earlier_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    with replace_file(path, mode=0o600) as file:
        file.write(b"earlier")
    with pytest.raises(TypeError), replace_file(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert path.read_bytes() == b"earlier"
    assert list(path.parent.iterdir()) == [path]
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
