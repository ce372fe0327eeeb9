"""Files that Knotwork creates belong to their user alone."""

import os
import stat

import pytest

import knotwork
from knotwork._config import load_settings
from knotwork._extensions.agents.fact_memory import FactMemory
from knotwork._extensions.diagnosis.installation import check_permissions

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_an_index_and_the_files_beside_it_are_for_their_owner(tmp_path):
    (tmp_path / "a.csv").write_text("name,city\nAnn,Rome\nBob,Oslo\n", encoding="utf-8")
    path = tmp_path / "a.knot"
    with knotwork.open(path, embedder="hashing:16") as base:
        base.index(tmp_path / "a.csv")
        files = {file.name: mode(file) for file in tmp_path.glob("a.knot*")}
    assert "a.knot-wal" in files
    assert set(files.values()) == {0o600}, files
    FactMemory(tmp_path / "facts.db").close()
    assert mode(tmp_path / "facts.db") == 0o600


def test_files_that_exist_keep_their_mode_and_the_doctor_names_them(tmp_path):
    path = tmp_path / "a.knot"
    settings = load_settings(overrides={"store.path": str(path)}, environ={}).settings.store
    assert not list(check_permissions(settings))
    knotwork.open(path, embedder="none").close()
    assert [check.fix for check in check_permissions(settings)] == [""]
    path.chmod(0o640)
    with knotwork.open(path) as base:
        assert base.stats().documents == 0
    assert mode(path) == 0o640
    (found,) = check_permissions(settings)
    assert found.ok
    assert str(path) in found.detail
    assert found.fix.endswith(f"chmod -R go= {path}*")
