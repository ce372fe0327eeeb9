"""The selected sentences, and the confidence of the answer."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._synthesis.extractive_answers import (
    MODELS,
    DocumentBlocks,
    Grain,
    Piece,
    estimate_confidence,
    name_cells,
    rank_candidates,
    trust_in_reader,
)
from knotwork._text.sentences import split_sentences
from knotwork.records import (
    Block,
    BlockKind,
    Chunk,
    Document,
    Evidence,
    Hit,
    Prediction,
    Query,
    Span,
)


def make_hit(
    text, relevances, *, terms=(), name="c", score=1.0, scores=None, kind=BlockKind.DEFINITION
):
    """Make a hit; ``terms`` are (term, text of its block)."""
    spans = tuple(split_sentences(text))
    assert len(spans) == len(relevances)
    blocks = tuple(
        Block(kind, Span(text.index(inside), text.index(inside) + len(inside)), term)
        for term, inside in terms
    )
    chunk = Chunk(name, name, "s", 0, Span(0, len(text)), text, spans, blocks=blocks)
    ranked = sorted(zip(spans, relevances, strict=True), key=lambda item: -item[1])
    return Hit(chunk, score, scores or {}, sentences=tuple(ranked))


def evidence(question, *hits, confidence=1.0, embedder=""):
    return Evidence(Query(question), "auto", hits, confidence, embedder=embedder)


def pieces_of(asked):
    """Return each sentence of the evidence as a piece, best first."""
    ranked = rank_candidates(asked)
    total = sum(math.exp(item.worth) for item in ranked)
    return [
        Piece(
            Grain.PARAGRAPH,
            item.span,
            DocumentBlocks(Document("c", asked.hits[item.rank].chunk.text)),
            parts=[item],
            worth=item.worth,
            share=math.exp(item.worth) / total,
        )
        for item in ranked
    ]


ENTRIES = (
    "log_size\n\nThe largest size of a log file. Its default is ten megabytes.\n\n"
    "log_age\n\nThe longest life of a log file. Its default is one day."
)
RELEVANCES = (0.2, 0.8, 0.3, 0.2, 0.4, 0.3)
TERMS = (
    ("log_size", "The largest size of a log file. Its default is ten megabytes."),
    ("log_age", "The longest life of a log file. Its default is one day."),
)


def test_a_value_that_is_asked_for_is_worth_what_its_entry_is():
    hit = make_hit(ENTRIES, RELEVANCES, terms=TERMS)
    asked = evidence("What is the default size at which a log file is closed?", hit)
    best = rank_candidates(asked)[0]
    assert best.text == "Its default is ten megabytes."
    other = rank_candidates(evidence("Which file does the log go to?", hit))[0]
    assert other.text == "The largest size of a log file."


def test_a_paragraph_is_an_entry_where_nothing_is_defined():
    text = "A log file has a largest size. Its default is 10 MB.\n\nColours vary. One is blue."
    asked = evidence("What is the default size of a log?", make_hit(text, (0.8, 0.2, 0.3, 0.2)))
    assert rank_candidates(asked)[0].text == "Its default is 10 MB."


TABLE = "| Setting | Default |\n|---|---|\n| timeout | 30 s |\n| retries | 3. Not more. |"


def table_hit():
    """Make a hit of a table, with the blocks of its loader."""
    rows = [TABLE.index(row) for row in ("| timeout", "| retries")]
    blocks = (
        Block(BlockKind.TABLE, Span(0, len(TABLE)), "Setting | Default"),
        Block(BlockKind.ROW, Span(rows[0], rows[1] - 1), "timeout"),
        Block(BlockKind.ROW, Span(rows[1], len(TABLE)), "retries"),
    )
    spans = (Span(0, 21), blocks[1].span, blocks[2].span)
    chunk = Chunk("c", "c", "s", 0, Span(0, len(TABLE)), TABLE, spans, blocks=blocks)
    return Hit(chunk, 1.0, {}, sentences=tuple((span, 0.5) for span in spans))


def test_the_header_of_a_table_is_no_candidate():
    ranked = rank_candidates(evidence("What is the default timeout?", table_hit()))
    assert {item.text for item in ranked} == {"| timeout | 30 s |", "| retries | 3. Not more. |"}


def test_the_name_of_a_column_says_of_what_kind_its_cells_are():
    asked = evidence("What is the default number of tries?", table_hit())
    assert rank_candidates(asked)[0].text.startswith("| ")


@pytest.mark.parametrize(
    ("row", "columns", "shown"),
    [
        ("| a | b |", "X | Y", "X: a; Y: b"),
        ("a | b", "X | Y | Z", "X: a; Y: b"),
        ("| a | | c |", "X | Y | Z", "X: a; Z: c"),
        (r"| a \| b | c |", " | Y", r"a \| b; Y: c"),
        ("| a | b | c |", "X | Y", "| a | b | c |"),
        ("| a |", "X | Y", "| a |"),
    ],
)
def test_cells_are_named(row, columns, shown):
    assert name_cells(row, columns) == shown


def test_titles_and_terms_alone_are_never_quoted():
    hit = make_hit(ENTRIES, (1.0, *RELEVANCES[1:]), terms=TERMS)
    assert "log_size" not in {item.text for item in rank_candidates(evidence("log size", hit))}


def test_code_is_worth_less_than_text_about_it():
    text = "The server is started with this.\n\npg_ctl start now and wait"
    hit = make_hit(text, (0.5, 0.6), terms=[("", "pg_ctl start now and wait")], kind=BlockKind.CODE)
    assert rank_candidates(evidence("How is it started?", hit))[0].text.startswith("The server")


@pytest.mark.parametrize(("bridge", "first"), [(0.0, "near"), (0.9, "far")])
def test_a_passage_over_a_bridge_is_measured_by_its_own_best_sentence(bridge, first):
    near = make_hit("The near page says this. And a little more.", (0.8, 0.6), name="near")
    far = make_hit(
        "The far page says that. Nothing else at all.",
        (0.5, 0.1),
        name="far",
        score=0.9,
        scores={"bridge": bridge},
    )
    ranked = [item.chunk.id for item in rank_candidates(evidence("What does it say?", near, far))]
    assert ranked[:2] == (["near", "far"] if first == "far" else ["near", "near"])


FITTED = next(iter(MODELS))


@pytest.mark.parametrize("embedder", ["", FITTED])
@given(
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.sampled_from(["How large is it?", "多大？", "?"]),
    st.floats(0, 1),
)
def test_confidence_is_a_probability_that_falls_with_what_was_found(
    embedder, relevances, question, found
):
    asked = evidence(question, make_hit(ENTRIES, relevances), confidence=found, embedder=embedder)
    ranked = pieces_of(asked)
    confidence = estimate_confidence(asked, ranked)
    assert 0.0 <= confidence <= 1.0
    doubted = dataclasses.replace(asked, confidence=found / 2)
    assert estimate_confidence(doubted, ranked) <= confidence
    nothing = dataclasses.replace(asked, confidence=0.0)
    assert estimate_confidence(nothing, ranked) == 0.0


def test_an_answer_in_another_script_is_as_sure_as_what_was_found():
    hit = make_hit("住宿费每晚不超过四百五十元。", (0.1,))
    asked = evidence("What may a hotel cost?", hit, confidence=0.9, embedder=FITTED)
    sure = estimate_confidence(asked, pieces_of(asked))
    doubted = dataclasses.replace(asked, confidence=0.4)
    assert 0.2 < sure < 0.5
    assert estimate_confidence(doubted, pieces_of(doubted)) < 0.2


def test_confidence_rises_with_the_best_sentence_and_its_lead():
    def sure(*relevances):
        asked = evidence("What is it?", make_hit(ENTRIES, relevances), embedder=FITTED)
        return estimate_confidence(asked, pieces_of(asked))

    alone, lost = (0.0, 0.5, 0.0, 0.0, 0.0, 0.0), (0.5,) * 6
    assert sure(0.0, 0.9, 0.0, 0.0, 0.0, 0.0) > sure(*alone) > sure(*lost)
    assert estimate_confidence(evidence("What is it?"), []) == 0.0


def read_by(odds, *hits, question="What is it?"):
    """Make evidence whose hits were read, with log-odds for each sentence."""
    read = [dataclasses.replace(hit, prediction=Prediction(odds)) for hit in hits]
    return evidence(question, *read, embedder=FITTED)


@given(st.lists(st.floats(-60, 60), min_size=2, max_size=2))
def test_confidence_rises_with_what_a_reader_predicts(odds):
    hit = make_hit("It is a bridge. It stands here.", (0.6, 0.1))
    sure = [
        estimate_confidence(asked, pieces_of(asked))
        for value in sorted(odds)
        for asked in [read_by((value, -60.0), hit)]
    ]
    assert 0.0 <= sure[0] <= sure[1] <= 1.0


def test_a_reader_counts_less_over_a_bridge():
    text = "The old bridge carries trams. Many ferries cross daily."
    hit = make_hit(text, (0.6, 0.35))
    alike = read_by((0.0, 0.0), hit)
    assert trust_in_reader(alike) == 1.0
    assert trust_in_reader(evidence("What is it?", hit)) == 0.0
    bridged = dataclasses.replace(alike.hits[0], scores={"bridge": 0.25})
    assert trust_in_reader(dataclasses.replace(alike, hits=(bridged,))) == 0.75


OPTIONS = """#### `fetch-tries`

* Default: 2
* Type: Number

The "tries" setting of the module that fetches packages from the registry.

#### `fetch-pause`

* Default: 60000 (1 minute)
* Type: Number

How long the module pauses that fetches packages."""


def options_hit():
    spans = tuple(
        Span(OPTIONS.index(text), OPTIONS.index(text) + len(text))
        for text in (
            "#### `fetch-tries`",
            "* Default: 2",
            'The "tries" setting of the module that fetches packages from the registry.',
            "#### `fetch-pause`",
            "* Default: 60000 (1 minute)",
            "How long the module pauses that fetches packages.",
        )
    )
    chunk = Chunk("c", "d", "s", 0, Span(0, len(OPTIONS)), OPTIONS, spans, headings=("Settings",))
    relevances = (0.6, 0.3, 0.55, 0.5, 0.35, 0.5)
    return Hit(chunk, 1.0, sentences=tuple(zip(spans, relevances, strict=True)))


def test_a_field_is_worth_what_its_section_is():
    ranked = rank_candidates(evidence("What is the default of fetch-tries?", options_hit()))
    assert ranked[0].text == "* Default: 2"


def test_a_field_that_is_not_asked_for_is_no_answer():
    ranked = rank_candidates(evidence("Which module fetches packages?", options_hit()))
    assert ranked[0].text.startswith('The "tries" setting')
