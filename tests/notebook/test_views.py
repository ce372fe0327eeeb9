"""Views in notebooks: all that matters, no scripts, and the same for the same value."""

import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import knotwork
from knotwork._extensions.notebook.views import MOST_HITS, MOST_NODES, render, render_subgraph
from knotwork._indexing.report import Failure, IndexReport
from knotwork.demo import open_sample
from knotwork.records import (
    Answer,
    Chunk,
    Citation,
    Edge,
    Evidence,
    GraphPath,
    Hit,
    Hop,
    Node,
    Query,
    QueryResult,
    Span,
    Step,
    Subgraph,
)

pytestmark = pytest.mark.slow


TAGS = {
    "div", "b", "p", "q", "span", "mark", "table", "tr", "th", "td", "details", "summary", "code",
    "svg", "title", "line", "circle", "text", "ul", "ol", "li", "strong", "em", "pre", "blockquote",
    "thead", "tbody", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6",
}  # fmt: skip
ATTRIBUTES = {
    "style", "title", "viewbox", "role", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "fill",
    "fill-opacity", "font-size", "stroke", "stroke-dasharray", "stroke-opacity", "stroke-width",
    "text-anchor", "start",
}  # fmt: skip


class Reader(HTMLParser):
    """Reads HTML as a browser does, and checks that it is well formed and does nothing."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.texts, self.titles, self.marked = [], [], [], []
        self.counts = dict.fromkeys(TAGS, 0)
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        self.counts[tag] += 1
        self.open.append(tag)
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "title":
                self.titles.append(value)
            else:
                assert "url(" not in value, value
                assert "<" not in value

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if "mark" in self.open:
            self.marked.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    @property
    def text(self):
        return "".join(self.texts)


@pytest.fixture(scope="module")
def kb():
    with open_sample() as folder, knotwork.open("memory:", embedding_model="none") as opened:
        opened.index(folder)
        yield opened


def test_evidence_marks_the_sentences_that_were_chosen(kb):
    evidence = kb.search("Who approves trips abroad?", k=3)
    shown = Reader(render(evidence))
    for hit in evidence.hits:
        assert hit.chunk.document_title in shown.text
        for span, _ in hit.sentences:
            start = hit.chunk.span.start
            assert hit.chunk.text[span.start - start : span.end - start] in shown.marked
    assert f"confidence {evidence.confidence:.2f}" in shown.text


def test_an_answer_shows_each_source_with_its_words(kb):
    answer = kb.ask("海外出差由谁审批？")
    shown = Reader(render(answer))
    assert all(piece.markdown in shown.text for piece in answer.pieces)
    assert f"confidence {answer.confidence:.2f} ({answer.strength})" in shown.text
    for citation in answer.citations:
        assert f"[{citation.number}] {citation.document}" in shown.text
        assert citation.quote in shown.text
    assert "Sources" in shown.text


MARKDOWN = """Steps:

3. Open the <b>.
   - check *args

| Item | Cost |
| --- | ---: |
| Probe | **900** |

[1]

```sh
ls | wc
```
[x](javascript:y) ![](http://z)"""


def test_the_text_of_an_answer_is_laid_out():
    html = render(Answer("Q", MARKDOWN, answered=True, short="Probe"))
    shown = Reader(html)
    assert {tag: shown.counts[tag] for tag in ("ol", "ul", "li", "table", "pre", "strong")} == {
        "ol": 1, "ul": 1, "li": 2, "table": 1, "pre": 1, "strong": 1,
    }  # fmt: skip
    assert "<p><b>Probe</b> — Steps:</p>" in html
    for text in ("Open the <b>.", "check *args", "ls | wc", "[x](javascript:y) ![](http://z)"):
        assert text in shown.text


def test_a_short_answer_precedes_a_table():
    html = render(Answer("Q", "| a |\n| --- |\n| b |\n\n[1]", answered=True, short="b"))
    assert html.index("<b>b</b>") < html.index("<table>")
    assert "b —" not in html


def test_an_outline_shows_no_confidence(kb):
    answer = kb.ask("What are these documents about?")
    assert answer.answered
    assert "confidence" not in Reader(render(answer)).text


def test_no_answer_looks_like_none(kb):
    answer = kb.ask("What is the price of tea in Lima?")
    shown = Reader(render(answer))
    assert not answer.answered
    assert answer.reason.replace("_", " ") in shown.text
    assert answer.text in shown.text
    assert "Sources" not in shown.text


def test_a_subgraph_is_drawn_whole_where_it_is_small(kb):
    subgraph = kb.graph.explore("Oriane Keld", depth=1, limit=6)
    shown = Reader(render(subgraph))
    assert shown.counts["circle"] == len(subgraph.nodes)
    assert shown.counts["line"] == len(subgraph.edges)
    for node in subgraph.nodes:
        assert node.name in shown.text
    assert render(subgraph) == render(kb.graph.explore("Oriane Keld", depth=1, limit=6))


def test_a_large_subgraph_says_how_much_of_it_is_drawn():
    nodes = tuple(Node(str(n), "Entity", f"Name {n}") for n in range(200))
    edges = tuple(Edge("0", "RELATES", str(n)) for n in range(1, 200))
    shown = Reader(render_subgraph(Subgraph(nodes, edges)))
    assert shown.counts["circle"] == MOST_NODES
    assert f"{MOST_NODES} of 200 nodes, {MOST_NODES - 1} of 199 relations" in shown.text


def test_nothing_is_drawn_of_nothing():
    for value in (Subgraph(), IndexReport(), Evidence(Query(""), "bm25"), Answer("", "", False)):
        assert Reader(render(value)).text is not None
    loop = Subgraph((Node("1", "Entity", "One"),), (Edge("1", "RELATES", "1"),))
    assert Reader(render(loop)).counts["circle"] == 1


def test_a_report_counts_and_names_what_was_not_read():
    failure = Failure("docs/a.pdf", "encrypted", "The file is <locked>.")
    report = IndexReport(added=3, failures=(failure,), total_documents=3, notes=("A note.",))
    shown = Reader(render(report))
    for part in ("3 added", "1 not read", "docs/a.pdf", "The file is <locked>.", "A note."):
        assert part in shown.text


def test_many_hits_are_counted_not_drawn():
    hits = tuple(Hit(chunk_of(f"Text {n}"), 1.0) for n in range(MOST_HITS + 5))
    shown = Reader(render(Evidence(Query("Q"), "bm25", hits)))
    assert f"{MOST_HITS} of {MOST_HITS + 5} passages" in shown.text


def test_other_values_have_no_view():
    with pytest.raises(TypeError, match="Query"):
        render(Query("Q"))


def chunk_of(text, title=""):
    return Chunk(
        "c", "d", "s", 0, Span(0, len(text)), text, document_title=title, headings=(title,)
    )


HOSTILE = st.one_of(
    st.sampled_from(
        [
            "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</svg><svg/onload=x>",
            "' style='background:url(//x)", "<!-- ", "-->", "]]>", "&lt;b&gt;", "</title><b>",
            "\u202eright to left", "a\0b", "\ud800", "{{ 7 * 7 }}", "$\\alert$", "javascript:x",
        ]
    ),
    st.text(max_size=40),
)  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_text_of_a_document_becomes_markup(data):
    def text():
        return data.draw(HOSTILE)

    span = Span(0, data.draw(st.integers(0, 50)))
    body = text()
    hop = Hop("1", text(), text(), "2", text(), True, "c")
    step = Step("c", span, text(), "1", text(), 1.0)
    hit = Hit(
        chunk_of(body, text()), 1.0, {text(): 1.0}, (text(),), (step,), ((span, 1.0), (span, 0.5))
    )
    result = QueryResult("cypher", text(), (text(),), ((text(),),))
    citation = Citation(1, text(), text(), text(), text(), span, text(), "c", 1.0)
    node = Node("1", text(), text(), {"type": text()})
    edge = Edge("1", "RELATES", "2", relation=text())
    values = (
        Evidence(
            Query(text()), text(), (hit,), 0.5, (text(),), (GraphPath((hop,), 1.0),), (result,),
            (text(),),
        ),
        Answer(text(), text(), data.draw(st.booleans()), (citation,), text(), notes=(text(),)),
        Subgraph((node, Node("2", "Entity", text())), (edge,)),
        IndexReport(failures=(Failure(text(), text(), text()),), notes=(text(),), embedder=text()),
    )  # fmt: skip
    for value in values:
        shown = Reader(render(value))
        assert not {"\u202e", "\0", "\ud800"} & set(shown.text + "".join(shown.titles))
        render(value).encode("utf-8")


def test_harmless_text_is_shown_unchanged():
    name = "Größe “π” & 差旅 <b> العربية 👩‍🔬"
    shown = Reader(render(Subgraph((Node("1", "Entity", name),))))
    assert name in shown.text


# A process of its own, with a module that does what the tests need of IPython: the shell has an
# HTML formatter that takes a renderer for each type.
SHELL = """
import sys, types
class Formatter(dict):
    for_type = dict.__setitem__
formatter = Formatter()
shell = types.SimpleNamespace(
    display_formatter=types.SimpleNamespace(formatters={{"text/html": formatter}})
)
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: {shell})
import knotwork
from knotwork._extensions.notebook import VIEWED_TYPES
before = {{kind: dict(vars(kind)) for kind in VIEWED_TYPES}}
with knotwork.open("memory:", embedding_model="none") as kb:
    evidence = kb.search("anything")
assert before == {{kind: dict(vars(kind)) for kind in VIEWED_TYPES}}
assert "knotwork._extensions.notebook.views" not in sys.modules
"""


def run_python(code):
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_opening_a_knowledge_base_in_ipython_registers_views_and_leaves_records_alone():
    run_python(
        SHELL.format(shell="shell")
        + "assert set(formatter) == set(VIEWED_TYPES)\n"
        + "assert 'anything' in formatter[type(evidence)](evidence)\n"
        + "assert 'knotwork._extensions.notebook.views' in sys.modules\n"
    )


def test_an_imported_ipython_that_runs_no_shell_gets_no_views():
    run_python(SHELL.format(shell="None") + "assert not formatter\n")


def test_opening_a_knowledge_base_outside_ipython_changes_nothing():
    run_python(
        "import sys\n"
        "import knotwork\n"
        "from knotwork.records import Evidence\n"
        "with knotwork.open('memory:'):\n"
        "    assert not hasattr(Evidence, '_repr_html_')\n"
        "assert 'IPython' not in sys.modules\n"
        "assert 'knotwork._extensions.notebook.views' not in sys.modules\n"
    )
