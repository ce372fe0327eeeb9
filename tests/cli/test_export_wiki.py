"""`export wiki` writes linked Markdown into a folder of its own."""

from tests.cli.running import knotwork


def test_a_wiki_is_written_and_updated(tmp_path):
    notes, index, wiki = tmp_path / "notes", tmp_path / "notes.knot", tmp_path / "wiki"
    notes.mkdir()
    (notes / "plan.md").write_text("# Plan\n\nZorn Vale leads the harbour plan.")
    none = ("--set", "embedding.model=none", "--store", index)
    assert knotwork("index", notes, *none).code == 0
    result = knotwork("export", "wiki", wiki, *none)
    assert result.out.startswith(f"Wrote {wiki}: 1 document, ")
    assert knotwork("export", "wiki", wiki, "--json", *none).json["documents"] == 1
    assert "[[documents/Plan|Plan]]" in (wiki / "index.md").read_text()
    hidden = tmp_path / "hidden"
    assert knotwork("export", "wiki", hidden, "--where", "title = 'Other'", *none).code == 0
    assert not list((hidden / "documents").glob("*")) or not (hidden / "documents").exists()
    refused = knotwork("export", "wiki", notes, *none)
    assert refused.code == 1
    assert "--force" in refused.err
    assert knotwork("export", "wiki", notes, "--force", *none).code == 0
    assert (notes / "plan.md").exists()
