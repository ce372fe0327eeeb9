"""`schema`: proposed by a model or by counting, inferred from examples, shown, and used."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import knotwork

from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema, RelationPattern
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


TEXTS = {
    f"{name}.txt": f"Ada Smith founded Acme {name} in London. Bob Jones led Acme {name} from Oslo."
    for name in ("North", "South", "East", "West")
}
EXAMPLES = "source,source type,relation,target,target type\nAda,PERSON,founded,Acme,COMPANY\n"


@pytest.fixture
def server():
    with ModelTestServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, server: ModelTestServer) -> Path:
    """The working folder of a user with a model server and an index."""
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    (tmp_path / "knotwork.toml").write_text(
        f'[llm]\nmodel = "openai:brain"\nbase_url = "{server.url}"\n'
        'prices = ["openai:* 0.15 0.60"]\n[embedding]\nmodel = "none"\n',
        encoding="utf-8",
    )
    assert knotwork("index", "docs").code == 0
    return tmp_path


def test_a_model_proposes_a_schema_that_indexing_then_uses(server, folder):
    outcome = knotwork("schema", "propose", "-o", "schema.toml")
    assert outcome.code == 0, outcome.err
    assert "types, " in outcome.out
    assert "Model: 1 call, 0 cached" in outcome.err
    assert ", cost " in outcome.err
    assert "tokens to the prompt for each chunk" in outcome.err
    written = (folder / "schema.toml").read_text("utf-8")
    assert "from 4 passages of 4 documents" in written
    schema = ExtractionSchema.read(folder / "schema.toml")
    assert {"PERSON", "PLACE"} <= set(schema.entity_types)
    assert "founded" in schema.relation_types
    calls = server.traffic.totals.calls
    chosen = ("--set", "extraction.schema=schema.toml")
    assert knotwork("index", "docs", "--tier", "full", *chosen).code == 0
    assert server.traffic.totals.calls > calls
    asked = [call.body["messages"][-1]["content"] for call in server.traffic.calls]
    types = f"Types: {', '.join(schema.entity_types)}."
    assert sum(types in content for content in asked) == len(TEXTS)


def test_a_schema_goes_to_standard_output_and_may_be_piped(folder):
    outcome = knotwork("schema", "propose")
    (folder / "piped.toml").write_text(outcome.out, encoding="utf-8")
    assert ExtractionSchema.read(folder / "piped.toml").entity_types
    again = knotwork("schema", "propose")
    assert again.out == outcome.out
    assert "0 calls, 1 cached" in again.err


def test_the_object_has_counts_and_costs(folder):
    told = knotwork("schema", "propose", "--json", "--chunks", "2", "--types", "1").json
    assert (told["file"], told["chunks"], told["documents"]) == (None, 2, 2)
    assert told["model"].startswith("openai:brain")
    assert told["usage"]["schema"]["calls"] == 1
    assert float(told["money"]) > 0
    assert len(told["entity_types"]) == 1
    assert told["entity_types"][0]["count"] == 1
    assert told["entity_types"][0]["meaning"]
    assert told["strict"] is False
    assert told["prompt_tokens"] >= 0


def test_without_a_model_the_index_is_counted(server, folder):
    calls = server.traffic.totals.calls
    for arguments in (("--no-model",), ("--set", "llm.model=none")):
        outcome = knotwork("schema", "propose", *arguments, "--json")
        assert outcome.code == 0, outcome.err
        told = outcome.json
        assert told["model"] == ""
        assert told["usage"] == {}
        assert any(kind["name"] == "PLACE" for kind in told["entity_types"])
        assert "No model was used" in outcome.err
    assert server.traffic.totals.calls == calls


def test_a_ceiling_and_replies_of_no_use_are_reported(server, folder):
    outcome = knotwork("schema", "propose", "--budget", "100 tokens", "-o", "schema.toml")
    assert outcome.code == 4
    assert "The budget of 100 tokens" in outcome.err
    assert not (folder / "schema.toml").exists()
    server.faults = FaultPlan({Fault.GARBAGE: 1.0})
    outcome = knotwork("schema", "propose", "--json")
    assert outcome.code == 1
    assert outcome.json["error"]["code"] == "unparsable_reply"
    server.faults = FaultPlan()
    assert knotwork("schema", "propose").code == 0  # asking again needs no further option


def test_an_index_without_passages_has_nothing_to_propose_from(tmp_path):
    assert knotwork("schema", "propose").code == 2
    (tmp_path / "empty").mkdir()
    knotwork("index", "empty", "--store", "empty.knot", "--set", "embedding.model=none")
    outcome = knotwork("schema", "propose", "--store", "empty.knot")
    assert outcome.code == 2


def test_examples_become_a_strict_schema(tmp_path):
    (tmp_path / "e.csv").write_text(EXAMPLES, encoding="utf-8")
    outcome = knotwork("schema", "examples", "e.csv", "-o", "schema.toml")
    assert outcome.code == 0, outcome.err
    assert "Wrote 2 types, 1 relation, 1 pattern to schema.toml" in outcome.out
    pattern = RelationPattern("PERSON", "founded", "COMPANY")
    assert ExtractionSchema.read(tmp_path / "schema.toml") == ExtractionSchema(
        ("PERSON", "COMPANY"), ("founded",), (pattern,), strict=True
    )
    told = knotwork("schema", "examples", "e.csv", "--json").json
    assert told["patterns"] == [{**pattern._asdict(), "count": 1}]


def test_a_wrong_example_is_named_by_its_line(tmp_path):
    (tmp_path / "e.csv").write_text(EXAMPLES + "Ada,PERSON,,Acme,\n", encoding="utf-8")
    outcome = knotwork("schema", "examples", "e.csv", "--json")
    assert outcome.code == 2
    assert "e.csv, line 3 has a target, but no relation" in outcome.json["error"]["message"]
    assert "fix:" in outcome.err


def test_a_file_is_replaced_only_on_request(server, folder):
    (folder / "e.csv").write_text(EXAMPLES, encoding="utf-8")
    (folder / "schema.toml").write_text("# mine\n", encoding="utf-8")
    calls = server.traffic.totals.calls
    for arguments in (("propose",), ("examples", "e.csv")):
        outcome = knotwork("schema", *arguments, "-o", "schema.toml")
        assert outcome.code == 2
        assert "--force" in outcome.err
    assert server.traffic.totals.calls == calls
    assert (folder / "schema.toml").read_text("utf-8") == "# mine\n"
    assert knotwork("schema", "examples", "e.csv", "-o", "schema.toml", "--force").code == 0
    assert ExtractionSchema.read(folder / "schema.toml")


def test_the_schema_in_force_is_shown(tmp_path):
    outcome = knotwork("schema", "show")
    assert outcome.code == 0
    assert "No schema is set" in outcome.out
    assert knotwork("schema", "show", "--json").json["file"] is None
    (tmp_path / "e.csv").write_text(EXAMPLES, encoding="utf-8")
    knotwork("schema", "examples", "e.csv", "-o", "schema.toml")
    (tmp_path / "knotwork.toml").write_text(
        '[extraction]\nschema = "schema.toml"\n', encoding="utf-8"
    )
    shown = knotwork("schema", "show").out
    (tmp_path / "shown.toml").write_text(shown, encoding="utf-8")
    assert ExtractionSchema.read(tmp_path / "shown.toml") == ExtractionSchema.read(
        tmp_path / "schema.toml"
    )
    told = knotwork("schema", "show", "--json").json
    assert Path(told["file"]).name == "schema.toml"
    assert [kind["name"] for kind in told["entity_types"]] == ["PERSON", "COMPANY"]
    assert knotwork("schema", "show", "--set", "extraction.schema=none.toml").code == 2
