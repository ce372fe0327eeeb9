"""Prose and facts weigh more than markup, addresses and code, in any language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.small_index import build_index

from knotwork._stores.urls import open_store
from knotwork._synthesis.extractive_answers import compose_answer, rank_candidates
from knotwork._text.sentences import split_sentences
from knotwork._text.statements import LEAST_WEIGHT, weigh_prose
from knotwork.records import Chunk, Document, Evidence, Hit, Query, Span

SENTENCES = (
    "She died in 1988 (aged 76) in St. Petersburg, U.S.A., at 12:30.",
    "Rich can render a [tree](https://example.org/tree.html) with guide lines.",
    "The area is 5 km² (50%) of the *whole* land and/or sea.",
    "国内出差由部门主管审批。",
    "用 pip 安装 knotwork。",
    "これは本です。",
    "यह एक वाक्य है।",
    "Это одно предложение.",
    "هذه جملة واحدة.",
    "นี่คือ หนึ่ง ประโยค",
)
FACTS = (
    "Price: 12 EUR",
    "name: pear; price: 4 EUR; stock: 7",
    "| Alder | 12.5 | 1990-01-02 |",
    "价格：12元",
    "E-mail: ann@example.org",
    "Tel: +49 30 1234-567",
    "Capital: Paris",
    "- Bug reports: https://example.org/numpy/issues",
    "- **Homepage:** <https://example.org/>",
)
OTHERS = (
    "[Website](https://example.org/)",
    "[![pypi](https://example.org/x.svg)](https://example.org/a) ![x](y.png)",
    "(apache#github_organization)",
    "License-File: numpy/_core/src/LICENSE.md",
    "|---|:--:|",
    "[1]: https://example.org/arrow/x.rst",
    "x = f(y)",
    "items = [float(row[0])] + read_rows(path)",
    "<img src='x.png' alt='The logo'/>",
    "https://example.org/a/b",
    "***",
)


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_of_any_language_has_full_weight(text):
    assert weigh_prose(text) == 1.0


@pytest.mark.parametrize("text", FACTS)
def test_a_fact_has_much_weight(text):
    assert weigh_prose(text) >= 0.6


@pytest.mark.parametrize("text", OTHERS)
def test_text_other_than_prose_has_little_weight(text):
    assert LEAST_WEIGHT <= weigh_prose(text) < 0.3


@pytest.mark.parametrize(
    ("announcing", "stating"),
    [
        ("The heat is controlled in three steps.", "The heat is controlled in the three steppes."),
        ("The values are as follows.", "The values are as folded."),
        ("大棚的温度控制分三步。", "大棚的温度控制分三次。"),
        ("密码的要求如下。", "密码的要求很高。"),
    ],
)
def test_announcing_sentences_weigh_less(announcing, stating):
    assert weigh_prose(announcing) < weigh_prose(stating) == 1


def test_a_heading_and_a_lead_in_weigh_less_than_what_they_announce():
    assert weigh_prose("## The price of pears") < weigh_prose("The price of pears")
    assert weigh_prose("The prices of pears are:") < weigh_prose("The prices of pears are low.")


@given(st.text())
def test_a_weight_is_a_share(text):
    assert LEAST_WEIGHT <= weigh_prose(text) <= 1.0


@given(st.text(alphabet="[]()<>!:/ a\n`", max_size=400))
def test_markup_of_any_shape_is_weighed(text):
    assert LEAST_WEIGHT <= weigh_prose(text) <= 1.0


def make_evidence(text, relevance):
    """Evidence of one chunk; each sentence is as relevant as told, in order."""
    document = Document(uri="a.md", title="A", text=text)
    spans = tuple(split_sentences(text))
    chunk = Chunk("c", document.id, "s", 0, Span(0, len(text)), text, spans)
    hit = Hit(chunk, 1.0, sentences=tuple(zip(spans, relevance, strict=True)))
    return document, Evidence(Query("How is Knotwork run?"), "auto", (hit,), 1.0)


def test_prose_is_chosen_over_markup_and_code_that_match_as_well():
    text = (
        "[![Run knotwork](https://example.org/x.svg)](https://example.org/knotwork)\n\n"
        "Knotwork is run on the command line.\n\n"
        "```\nknotwork run\n```"
    )
    _, evidence = make_evidence(text, (1.0, 0.8, 0.9, 0.9, 0.9))
    assert rank_candidates(evidence)[0].text == "Knotwork is run on the command line."


@pytest.mark.parametrize("text", ["```\nknotwork run folder\n```", *FACTS, *OTHERS[:4]])
def test_evidence_without_prose_is_answered_with_what_there_is(text):
    spans = split_sentences(text)
    document, evidence = make_evidence(text, [1.0] * len(spans))
    store = build_index(open_store("memory:", create=True), None, documents=[document])
    answer = compose_answer(evidence, store=store)
    assert answer.answered
    assert text[slice(*answer.citations[0].span)] == answer.citations[0].quote
