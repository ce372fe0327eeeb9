"""`agent` and `tables`: answers step by step, and spreadsheets that answer SQL."""

import json

import pytest
from tests.cli.running import knotwork

pytestmark = pytest.mark.slow


NOTES = {
    "lantern.txt": "Silver Lantern is a 1954 film directed by Marta Ilves.",
    "ilves.txt": "Marta Ilves was an Estonian artist. She grew up in Tartu.",
}


@pytest.fixture
def index(tmp_path, monkeypatch):
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    assert knotwork("index", folder).code == 0
    return tmp_path


@pytest.mark.parametrize("kind", ["iterative", "corrective", "reasoning", "revising"])
def test_an_agent_answers_and_shows_its_steps(index, kind):
    question = "Where did the director of Silver Lantern grow up?"
    outcome = knotwork("agent", question, "--kind", kind, "--json", "--explain")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["retriever"] == f"agent:{kind}"
    assert told["steps"][0].startswith("1. ")
    assert told["evidence"]["hits"]
    shown = knotwork("agent", question, "--kind", kind, "--explain")
    assert "1. " in shown.out


def test_wrong_names_are_reported(index):
    assert "`corrective`" in knotwork("agent", "Who?", "--kind", "clever").err
    assert "retriever" in knotwork("agent", "Who?", "--tools", "nothing").err
    assert knotwork("agent", "  ").code == 2


def test_tables_are_kept_beside_the_index_and_asked(index):
    sales = index / "sales.csv"
    sales.write_text("Region,Amount\nNorth,120\nSouth,80\nNorth,60\n", "utf-8")
    added = knotwork("tables", "add", sales, "--json")
    assert added.code == 0, added.err
    (table,) = json.loads(added.out)["tables"]
    assert table["columns"] == [
        {"name": "region", "type": "text"},
        {"name": "amount", "type": "integer"},
    ]
    assert (index / "index.knot-tables").exists()
    assert "sales" in knotwork("tables", "list").out
    found = knotwork("tables", "query", "SELECT sum(amount) AS total FROM sales", "--json")
    assert json.loads(found.out)["rows"] == [[260]]
    asked = knotwork("search", "average amount in the North", "--retriever", "text_to_sql")
    assert asked.out.endswith(" 90\n")
    refused = knotwork("tables", "query", "DROP TABLE sales")
    assert refused.code == 2
    assert "only SELECT" in refused.err
    assert knotwork("tables", "remove", "sales").code == 0
    assert knotwork("tables", "remove", "sales").code == 2


def test_rows_are_the_answer_with_the_query_and_its_table(index):
    sales = index / "sales.csv"
    sales.write_text("Region,Amount\nNorth,120\nSouth,80\nNorth,60\n", "utf-8")
    assert knotwork("tables", "add", sales).code == 0
    question = ("What is the average amount in the North?", "--retriever", "text_to_sql")
    shown = knotwork("ask", *question).out
    assert shown.startswith("90\n")
    assert "avg(t0" in shown
    assert "p0 = 'North'" in shown
    assert f"on the table sales ({sales})" in shown
    told = knotwork("ask", *question, "--json").json
    assert told["answered"]
    assert told["results"][0]["rows"] == [[90.0]]
    assert told["results"][0]["language"] == "sql"


def test_a_file_without_a_table_is_reported(index):
    empty = index / "empty.csv"
    empty.write_text("a,b\n", "utf-8")
    assert "no row" in knotwork("tables", "add", empty).err
    assert "is not a table file" in knotwork("tables", "add", index / "notes.txt").err


def test_an_agent_keeps_to_filters(index):
    question = "Where did the director of Silver Lantern grow up?"
    asked = ("agent", question, "--json", "--explain", "--where", "path = lantern.txt")
    found = knotwork(*asked).json["evidence"]
    assert found["filter"] == "path = 'lantern.txt'"
    assert {hit["title"] for hit in found["hits"]} == {"lantern"}
    nothing = knotwork(*asked, "--where", "path = ilves.txt").json
    assert nothing["evidence"]["hits"] == []
    assert "No document matches the filter" in " ".join(nothing["notes"])
    assert knotwork("agent", question, "--where", "colour = red").code == 2
