"""Pieces that begin with a pronoun are shown with the name that it stands for."""

import pytest

import knotwork

LONG = "The doors are open from ten to five, in summer until seven. " * 9
"""So much that the pronoun behind the next sentence begins a part of the paragraph."""
PAGES = {
    "keld.md": "# Oriane Keld\n\nOriane Keld is an engineer.\n\nShe was born in Tarnby in 1950.",
    "museum.md": (
        f"# Bridges\n\n{LONG}The Harbour Museum was founded by Mara Lindqvist in 1962. "
        f"She was born in Ystad. Its roof is made of copper."
    ),
    "two.md": "# Talks\n\nAnna Berg met Carla Dahl.\n\nShe paid for the supper with coins.",
    "zh.md": (
        "# 林黛\n\n林黛是一位画家。\n\n她出生于杭州。\n\n她的父亲是木匠。\n\n她们在上海见面。"
    ),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("subjects")
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = {"embedding_model": "none", "answer_abstain_below": 0.0}
    with knotwork.open(folder / "index.knot", **settings) as opened:
        opened.index(folder)
        yield opened


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Where was Oriane Keld born?", "[Oriane Keld] was born in Tarnby in 1950."),
        ("Who was born in Ystad?", "[Mara Lindqvist] was born in Ystad."),
        ("她出生于哪里？", "[林黛]出生于杭州。"),
        ("她的父亲是什么？", "[林黛]的父亲是木匠。"),
    ],
)
def test_a_pronoun_is_replaced_by_its_name(base, question, shown):
    answer = base.ask(question)
    assert shown in answer.text
    quotes = [citation.quote for citation in answer.citations]
    assert not any(quote.startswith("[") for quote in quotes)  # a quote is what the page has


@pytest.mark.parametrize(
    ("question", "unchanged"),
    [
        ("Who paid for the supper with coins?", "She paid for the supper with coins."),
        ("What is the roof made of copper?", "Its roof is made of copper."),
        ("在上海见面", "她们在上海见面。"),
    ],
)
def test_an_unsure_pronoun_stays(base, question, unchanged):
    assert unchanged in base.ask(question).text
