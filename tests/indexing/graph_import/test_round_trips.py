"""Graphs with hostile names, written in every format and read back: nothing is lost or changed."""

import csv
import io
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.indexing.graph_import.graph_files import facts_of

from knotwork._indexing.graph_import import import_graph_steps
from knotwork._stores.memory import MemoryStore

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
@settings(max_examples=25, deadline=None)
@given(facts=FACTS)
def test_quoted_tables_come_back_as_they_were(tmp_path_factory, facts, delimiter, ending):
    path = tmp_path_factory.mktemp("csv") / f"g.{ending}"
    rows = [("subject", "relation", "object"), *facts]
    write_csv(path, rows, delimiter, csv.QUOTE_ALL)
    assert facts_of(path, "table") == Counter(facts)


@settings(max_examples=25, deadline=None)
@given(facts=FACTS)
def test_plain_triples_with_tabs_come_back_as_they_were(tmp_path_factory, facts):
    bare = [fact for fact in facts if not any(name.startswith('"') for name in fact)]
    if not bare:
        return
    path = tmp_path_factory.mktemp("tsv") / "g.tsv"
    lines = ["subject\trelation\tobject", *("\t".join(fact) for fact in bare)]
    path.write_text("\n".join(lines), "utf-8", newline="")
    assert facts_of(path, "table") == Counter(bare)


@settings(max_examples=25, deadline=None)
@given(facts=FACTS)
def test_every_fact_is_a_line_with_its_names_where_they_are_said_to_be(tmp_path_factory, facts):
    path = write_csv(
        tmp_path_factory.mktemp("g") / "g.csv",
        [("subject", "relation", "object"), *facts],
        ",",
        csv.QUOTE_ALL,
    )
    store = MemoryStore()
    *_, last = import_graph_steps(store, [path])
    report = last.report
    assert report.facts == len(facts)
    assert report.bad_lines == {}
    documents = store.documents.documents(store.documents.document_ids())
    chunk_ids = [c for d in documents for c in store.documents.chunk_ids(d)]
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
