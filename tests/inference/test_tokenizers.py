"""The tokenizers of local models against those of their authors."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.inference.multilingual_texts import ODD_TEXTS, SENTENCES, TEXTS
from tests.inference.sentencepiece_models import build_sentencepiece

from knotwork._extensions.local_models import e5, minilm
from knotwork._extensions.local_models.encoder import SPACE, WordPieceTokenizer

pytestmark = pytest.mark.slow


LONE_SURROGATES = ["\ud800", "half \udc00 a pair", "\udfff\ud800"]
LONG_WORD = "bridgework" * 500
ANY_TEXT = st.text(st.characters(), max_size=60)


@pytest.fixture(scope="module")
def packed():
    path = e5.find_weights()
    if path is None:
        pytest.skip("no package with the weights of multilingual-e5-small")
    return e5.PackedModel.read(path)


@pytest.fixture(scope="module")
def unigram(packed):
    return e5.load_parts(e5.find_weights()).tokenizer


@pytest.fixture(scope="module")
def sentencepiece_model(packed):
    pytest.importorskip("sentencepiece")
    return build_sentencepiece(packed)


@pytest.fixture(scope="module")
def vocabulary_file():
    weights = minilm.find_weights()
    if weights is None:
        pytest.skip("no package with the weights of all-MiniLM-L6-v2")
    return weights.with_name("vocab.txt")


@pytest.fixture(scope="module")
def wordpiece(vocabulary_file):
    pieces = vocabulary_file.read_text(encoding="utf-8").splitlines()
    return WordPieceTokenizer({piece: number for number, piece in enumerate(pieces)})


def check_starts(tokens, text):
    assert len(tokens.starts) == len(tokens.ids)
    assert all(0 <= start < len(text) for start in tokens.starts)
    assert all(one <= other for one, other in pairwise(tokens.starts))


def test_unigram_ids_match_sentencepiece(unigram, sentencepiece_model):
    texts = [*TEXTS, LONG_WORD, *(text for text in ODD_TEXTS if "x" * 100 not in text)]
    for text in texts:
        assert list(unigram.encode(text).ids) == sentencepiece_model.encode(text), text


def test_a_repeated_letter_is_cut_into_as_many_pieces_as_by_sentencepiece(
    unigram, sentencepiece_model
):
    """All orders of these pieces are equally probable, and rounding decides between them."""
    text = "x" * 5_000
    ids = unigram.encode(text).ids
    assert sorted(ids) == sorted(sentencepiece_model.encode(text))


def test_zero_width_joiners_are_spaces(unigram):
    assert unigram.encode("one\u200dtwo").ids == unigram.encode("one two").ids


def test_unigram_tokens_start_at_their_characters(unigram, packed):
    pieces = packed.pieces
    for text in [*SENTENCES["en"], "if a<b: print('ok')  # well, 3.14"]:
        tokens = unigram.encode(text)
        check_starts(tokens, text)
        assert len(set(tokens.starts)) >= len(tokens.ids) - len(text.split())
        for number, start in zip(tokens.ids, tokens.starts, strict=True):
            piece = pieces[number].decode().removeprefix(SPACE)
            assert text[start:].startswith(piece), (text, piece)


@given(ANY_TEXT)
@example("\u1100\u1161\u11a8")
@example("ﾊﾟ")
@example("\ud800")
def test_any_text_has_unigram_tokens(unigram, text):
    check_starts(unigram.encode(text), text)


def test_long_and_odd_texts_have_starts_in_order(unigram, wordpiece):
    for text in [*TEXTS, *ODD_TEXTS, *LONE_SURROGATES, LONG_WORD]:
        check_starts(unigram.encode(text), text)
        check_starts(wordpiece.encode(text), text)


def test_wordpiece_ids_and_starts_match_bert(wordpiece, vocabulary_file):
    transformers = pytest.importorskip("transformers")

    reference = transformers.BertTokenizerFast(vocab=str(vocabulary_file))
    for text in [*TEXTS, LONG_WORD, *ODD_TEXTS]:
        plain = text.replace("[CLS]", "").replace("[SEP]", "")  # no token when read in a text
        tokens = wordpiece.encode(plain)
        wanted = reference(
            plain, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        assert list(tokens.ids) == wanted["input_ids"], text
        assert list(tokens.starts) == [start for start, _ in wanted["offset_mapping"]], text


@given(ANY_TEXT)
@example("\ud800")
def test_any_text_has_wordpiece_tokens(wordpiece, text):
    check_starts(wordpiece.encode(text), text)
