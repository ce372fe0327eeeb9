"""The wheel of weights that `scripts/build_model_wheel.py` builds."""

import base64
import csv
import hashlib
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from tests.inference.packed_models import write_packed

from knotwork._extensions.local_models import e5

pytestmark = pytest.mark.slow


SCRIPT = Path(__file__).parents[2] / "scripts" / "build_model_wheel.py"
INFO = "knotwork_multilingual_e5_small-1.0.0.dist-info"
WHEEL = "knotwork_multilingual_e5_small-1.0.0-py3-none-any.whl"


def build(weights, folder):
    command = [sys.executable, str(SCRIPT), "--weights", str(weights), "--output", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def weights(tmp_path):
    return write_packed(tmp_path / "weights.bin")


@pytest.fixture
def wheel(weights, tmp_path):
    done = build(weights, tmp_path / "dist")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "dist" / WHEEL)
    return tmp_path / "dist" / WHEEL


def test_the_record_lists_every_file_with_its_hash(wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[-1] == f"{INFO}/RECORD"
        rows = list(csv.reader(archive.read(names[-1]).decode().splitlines()))
        assert [row[0] for row in rows] == names
        for name, digest, size in rows[:-1]:
            content = archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            assert (digest, size) == (f"sha256={found.rstrip('=')}", str(len(content)))
        assert rows[-1] == [names[-1], "", ""]


def test_the_metadata_are_valid(wheel, weights):
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"{INFO}/METADATA").decode())
        tags = Parser().parsestr(archive.read(f"{INFO}/WHEEL").decode())
        notice = archive.read(f"{INFO}/licenses/NOTICE").decode()
        text = archive.read(f"{INFO}/licenses/LICENSE").decode()
    assert metadata["Name"] == "knotwork-multilingual-e5-small"
    assert metadata["Version"] == "1.0.0"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert metadata.get_all("Requires-Dist") is None
    assert (tags["Wheel-Version"], tags["Tag"]) == ("1.0", "py3-none-any")
    assert tags["Root-Is-Purelib"] == "true"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() in notice
    assert "intfloat/multilingual-e5-small" in notice
    assert text.startswith("MIT License")


def test_the_same_weights_give_the_same_wheel(wheel, weights, tmp_path):
    assert build(weights, tmp_path / "again").returncode == 0
    assert (tmp_path / "again" / WHEEL).read_bytes() == wheel.read_bytes()


def test_the_embedder_finds_the_weights_of_the_wheel_first(wheel, weights, tmp_path, monkeypatch):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    found = e5.find_weights()
    assert found == tmp_path / "site" / "knotwork_multilingual_e5_small" / "e5-small-q4.bin"
    assert found.read_bytes() == weights.read_bytes()


def test_a_file_that_is_not_a_model_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a model", encoding="utf-8")
    done = build(tmp_path / "notes.txt", tmp_path / "dist")
    assert done.returncode == 1
    assert "notes.txt" in done.stderr
    assert not (tmp_path / "dist").exists()
