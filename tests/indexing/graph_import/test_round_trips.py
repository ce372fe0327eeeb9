"""Graphs with hostile names, written in every format and read back: nothing is lost or changed."""

import csv
import io
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.indexing.graph_import.graph_files import facts_of

from knotwork._extensions.formats.spreadsheets import DelimitedLoader
from knotwork._extensions.graphs.export import export_graph
from knotwork._extensions.graphs.graph_import.graph_importer import import_graph
from knotwork._extensions.graphs.graph_import.tables import find_dialect, read_rows
from knotwork._extensions.testing.store_contract import add_document
from knotwork._indexing.loaders.loader import Source
from knotwork._stores.urls import open_store

HOSTILE = [
    'the "quoted" one', "a,b", "semi;colon", "pipe|d", "#hash", "O'Neill", "<b>&amp;</b>",
    "名字，全角", "x\u200by", "émile", "=1+1", "-", "$", "🎬", "NULL", "nan", "1e5", "_:b0", "ﬁ",
    "ﬀ\u0301", "ا ب", "a (b)", "the", "relation", "subject", "{x}", "[1]", "\\n", "::", "%20",
]  # fmt: skip
TEXT = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20),
).map(lambda text: " ".join(text.split()))
NAMES = TEXT.filter(lambda text: text and not text.startswith("\ufeff"))
FACTS = st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=25)


def write_csv(path, rows, delimiter, quoting):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)
    path.write_text(out.getvalue(), "utf-8", newline="")
    return path


@pytest.mark.parametrize(("delimiter", "ending"), [(",", "csv"), ("\t", "tsv"), (";", "csv")])
@given(facts=FACTS)
def test_quoted_tables_round_trip(tmp_path_factory, facts, delimiter, ending):
    path = tmp_path_factory.mktemp("csv") / f"g.{ending}"
    rows = [("subject", "relation", "object"), *facts]
    write_csv(path, rows, delimiter, csv.QUOTE_ALL)
    assert facts_of(path, "table") == Counter(facts)


@given(facts=FACTS)
def test_plain_triples_with_tabs_round_trip(tmp_path_factory, facts):
    bare = [fact for fact in facts if not any(name.startswith('"') for name in fact)]
    if not bare:
        return
    path = tmp_path_factory.mktemp("tsv") / "g.tsv"
    lines = ["subject\trelation\tobject", *("\t".join(fact) for fact in bare)]
    path.write_text("\n".join(lines), "utf-8", newline="")
    assert facts_of(path, "table") == Counter(bare)


@given(facts=FACTS)
@example(facts=[("a,b", "r", "a,b"), ("a,b", "r", "_")])
def test_every_fact_is_a_line_with_names_at_their_spans(tmp_path_factory, facts):
    path = write_csv(
        tmp_path_factory.mktemp("g") / "g.csv",
        [("subject", "relation", "object"), *facts],
        ",",
        csv.QUOTE_ALL,
    )
    store = open_store("memory:")
    last = import_graph(store, [path])
    report = last
    assert report.facts == len(facts)
    assert report.bad_lines == {}
    documents = store.documents.documents(store.documents.document_ids())
    chunk_ids = [c for ids in store.documents.chunk_ids_of(documents).values() for c in ids]
    text = "\n".join(document.text for document in documents.values())
    for chunk in store.documents.chunks(chunk_ids).values():
        own = documents[chunk.document_id].text
        assert own[chunk.span.start : chunk.span.end] == chunk.text
        for mention in store.graph.mentions([chunk.id])[chunk.id]:
            for start, end in mention.spans:
                assert chunk.span.start <= start < end <= chunk.span.end
    stored = sum(edge.weight for edge in store.graph.edges(types=["RELATES"]))
    assert stored >= report.facts - report.loops
    assert len(text.split("\n")) >= len(facts)


FORMULAS = st.tuples(
    st.text(st.sampled_from("'=+-@＝ \t"), min_size=1, max_size=4), NAMES | st.just("1+1")
).map("".join)


@given(names=st.lists(FORMULAS | NAMES, min_size=1, max_size=5, unique=True))
def test_an_export_for_spreadsheets_is_imported_as_a_raw_one(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("export")
    store = open_store("memory:")
    for number, name in enumerate(names):
        add_document(store, f"{number}.md", [name, names[0]], link=True)
    for kind, raw in (("safe", False), ("raw", True)):
        export_graph(store, folder / kind, format="csv", raw=raw)
    for file in ("nodes.csv", "edges.csv"):
        safe, raw = folder / "safe" / file, folder / "raw" / file
        assert rows_of(safe) == rows_of(raw)
        texts = [load(Source(file, path.read_bytes())) for path in (safe, raw)]
        assert texts[0] == texts[1]
    store.close()


def rows_of(path):
    dialect = find_dialect(path, delimiter=",")
    return [row.fields for row in read_rows(path, dialect)]


def load(source):
    content = DelimitedLoader().load(source)
    return content.text, content.tables
