"""The questions about manuals that the reader is trained on."""

import json
from pathlib import Path

import pytest

QUESTIONS = Path(__file__).parents[2] / "training" / "reader" / "questions"
TYPES = {"fact", "howto", "table", "definition", "list", "compare", "none"}


@pytest.mark.parametrize("path", sorted(QUESTIONS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_questions_have_an_answer_in_a_quote_or_none_at_all(path):
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len({row["question"] for row in rows}) == len(rows) > 50
    for row in rows:
        assert row["type"] in TYPES
        assert row["lang"] in ("en", "zh")
        assert row["page"]
        assert bool(row["quotes"]) == (row["type"] != "none"), row
        quotes = ["".join(quote.split()) for quote in row["quotes"]]
        assert not row["answer"] or any("".join(row["answer"].split()) in q for q in quotes), row


def test_the_table_of_manuals_counts_the_questions():
    readme = (QUESTIONS / "README.md").read_text("utf-8")
    counts = {
        path.stem: len(path.read_text("utf-8").splitlines()) for path in QUESTIONS.glob("*.jsonl")
    }
    told: dict[str, int] = {}
    for line in readme.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1].replace(", ", "").isdigit():
            told |= zip(cells[0].split(", "), map(int, cells[1].split(", ")), strict=True)
    assert told == counts
