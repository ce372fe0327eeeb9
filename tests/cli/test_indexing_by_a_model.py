"""`index` with a language model: what it costs, what it stops at, and what doctor says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import knotwork

from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


TEXTS = {
    "firms.txt": "Ada Smith founded Acme London in 1900.",
    "boats.txt": "Carol White sailed from Oslo to Bergen with Bob Jones.",
    "长江.txt": "王小明在北京大学工作。他与李华一起创办了长江公司。",
}


@pytest.fixture
def server():
    with ModelTestServer() as server:
        yield server


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, server: ModelTestServer) -> Path:
    """The working folder of a user with a model server, and documents in `docs`."""
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    (tmp_path / "knotwork.toml").write_text(
        f'[llm]\nmodel = "openai:brain"\nbase_url = "{server.url}"\n'
        'prices = ["openai:* 0.15 0.60"]\n[embedding]\nmodel = "none"\n',
        encoding="utf-8",
    )
    return tmp_path


def test_new_files_are_indexed_without_a_call_and_read_when_that_is_asked_for(server):
    assert knotwork("index", "docs").code == 0
    assert server.traffic.totals.calls == 0
    outcome = knotwork("index", "docs", "--tier", "full")
    assert outcome.code == 0
    assert server.traffic.totals.calls >= len(TEXTS)
    assert "Model" in outcome.out
    assert ", cost " in outcome.out
    assert "3 unchanged" in knotwork("index", "docs").out


def test_a_small_index_has_reports_of_the_model_too(server, folder):
    text = (
        "Peeter Varep designed the arched bridge of Tartu. Marta Ilves led its repairs in 2010. "
        "Peeter Varep worked for Tartu City. Marta Ilves works there and knows Peeter Varep. "
        "Eesti Ehitus replaced the cables of the arched bridge. Eesti Ehitus belongs to Nordkran. "
        "Nordkran was founded by Marta Ilves, and Peeter Varep owns a part of Nordkran."
    )
    (folder / "docs" / "bridges.txt").write_text(text)
    told = knotwork("index", "docs/bridges.txt", "--tier", "full", "--json").json["model"]
    assert told["made"]["reports"] > 0


def test_a_file_added_to_a_full_index_is_read_too_unless_told_otherwise(server, folder):
    knotwork("index", "docs", "--tier", "full")
    (folder / "docs" / "added.txt").write_text("Ola Nord founded Kestrel Works in Oslo.")
    added = knotwork("index", "docs", "--json").json
    assert added["model"]["readings"] == {"ok": 1}
    assert any("--tier lean" in note for note in added["notes"])
    (folder / "docs" / "cheap.txt").write_text("Ida Berg founded Merlin Works in Bergen.")
    calls = server.traffic.totals.calls
    cheap = knotwork("index", "docs/cheap.txt", "--tier", "lean", "--json").json
    assert "readings" not in cheap.get("model", {})
    (folder / "docs" / "mixed.txt").write_text("Eva Holm founded Falcon Works in Trondheim.")
    knotwork("index", "docs/mixed.txt")
    assert server.traffic.totals.calls == calls


def test_the_object_reports_tokens_by_stage_and_money_as_text(server):
    told = knotwork("index", "docs", "--tier", "full", "--json").json["model"]
    assert sum(told["readings"].values()) == len(TEXTS)
    assert told["usage"]["extract"]["calls"] >= len(TEXTS)
    assert float(told["money"]) > 0
    assert told["made"] == dict.fromkeys(
        ("several_names", "left_apart", "descriptions", "reports"), 0
    )
    assert "model" not in knotwork("index", "docs", "--json").json


def test_an_estimate_indexes_nothing_and_what_it_asked_is_kept(server):
    outcome = knotwork("index", "docs", "--tier", "full", "--estimate", "--json")
    assert outcome.code == 0
    told = outcome.json
    assert (told["documents"], told["chunks"], told["kept"]) == (3, 3, 0)
    assert told["sampled"] == server.traffic.totals.calls == 3
    assert knotwork("documents", "--json").json["documents"] == []
    again = knotwork("index", "docs", "--tier", "full", "--estimate")
    assert "Cached    3 chunks" in again.out
    assert server.traffic.totals.calls == 3


def test_an_estimate_without_the_full_tier_says_that_nothing_is_spent(server):
    outcome = knotwork("index", "docs", "--estimate")
    assert "no tokens would be spent" in outcome.out
    assert server.traffic.totals.calls == 0


def test_pictures_that_the_tier_leaves_undescribed_are_noted(server):
    options = ("index", "docs", "--set", "index.pictures=model")
    note = 'index.pictures is "model", but'
    for more in ((), ("--estimate",)):
        outcome = knotwork(*options, *more)
        assert outcome.code == 0
        assert note in outcome.err
    assert note not in knotwork(*options, "--tier", "full", "--estimate").err


def test_an_estimate_without_a_server_fails_at_once(server):
    server.close()
    outcome = knotwork("index", "docs", "--tier", "full", "--estimate")
    assert outcome.code == 3
    assert "Cannot connect" in outcome.err
    assert outcome.out == ""


def test_a_budget_stops_the_run_and_says_how_to_go_on(server):
    outcome = knotwork("index", "docs", "--tier", "full", "--budget", "700 tokens")
    assert outcome.code != 0
    assert "The budget of 700 tokens is reached" in outcome.err
    assert "continues from here" in outcome.err
    assert outcome.out.startswith("Documents")
    assert "  extract" in outcome.out
    assert knotwork("index", "docs", "--tier", "full").code == 0
    assert knotwork("index", "docs", "--budget", "much").code != 0


def test_the_full_tier_without_a_model_says_what_to_set():
    outcome = knotwork("index", "docs", "--tier", "full", "--set", "llm.model=none")
    assert outcome.code != 0
    assert "llm.model" in outcome.err
    outcome = knotwork("index", "docs", "--tier", "ful")
    assert "full" in outcome.err


def test_doctor_lists_what_could_not_be_used_and_retry_brings_it_in(server):
    server.faults = FaultPlan({Fault.GARBAGE: 1.0})
    outcome = knotwork("index", "docs", "--tier", "full")
    assert outcome.code == 0
    assert "No usable reply for 3 chunks" in outcome.err
    told = knotwork("doctor").out
    assert "docs/boats.txt" in told
    assert "--retry" in told
    server.faults = FaultPlan()
    assert knotwork("index", "docs", "--retry").code == 0
    assert "3 ok" in knotwork("doctor").out


def test_deleted_documents_leave_the_call_cache(server, folder):
    knotwork("index", "docs", "--tier", "full")
    calls = server.traffic.totals.calls
    assert knotwork("delete", "docs/boats.txt").code == 0
    assert server.traffic.totals.calls == calls
    assert b"Carol White" not in (folder / "knowledge.knot.calls").read_bytes()
    knotwork("index", "docs")  # it is still in the folder, and read and paid for as any new file
    assert server.traffic.totals.calls == calls + 1
