"""`graph conflicts` lists the values on which documents disagree."""

import pytest
from tests.cli.running import knotwork

pytestmark = pytest.mark.slow


def test_conflicts_are_printed_and_written_as_json(tmp_path, monkeypatch):
    (tmp_path / "Fees 2022.md").write_text("The annual fee is 30 euros.", encoding="utf-8")
    (tmp_path / "Fees 2024.md").write_text("The annual fee is 35 euros.", encoding="utf-8")
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    assert knotwork("index", tmp_path).code == 0
    shown = knotwork("graph", "conflicts").out
    assert shown.index("2024") < shown.index("35 euros") < shown.index("30 euros")
    (found,) = knotwork("graph", "conflicts", "--json").json["conflicts"]
    assert [(claim["value"], claim["date"]) for claim in found["claims"]] == [
        ("35 euros", "2024"),
        ("30 euros", "2022"),
    ]
