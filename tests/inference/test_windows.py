from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.local_models.encoder import (
    Tokens,
    Window,
    batch_windows,
    cut_windows,
    sentence_ranges,
)
from knotwork.records import Span


def make_tokens(count: int) -> Tokens:
    """Tokens of one character each, whose ids are their places."""
    return Tokens((-1,), list(range(count)), list(range(count)), (-2,))


def make_sentences(lengths: list[int]) -> list[Span]:
    spans, start = [], 0
    for length in lengths:
        spans.append(Span(start, start + length))
        start += length
    return spans


@given(
    context=st.integers(0, 40),
    lengths=st.lists(st.integers(1, 30), max_size=12),
    max_tokens=st.integers(6, 40),
)
def test_every_token_is_in_one_window_and_none_is_too_long(context, lengths, max_tokens):
    sentences = make_sentences(lengths)
    tokens = make_tokens(context + sum(lengths))
    windows = cut_windows(
        tokens, owner=3, context_end=context, sentences=sentences, max_tokens=max_tokens
    )
    covered = []
    for window in windows:
        assert window.owner == 3
        assert len(window.ids) <= max_tokens
        assert window.ids[0] == -1
        assert window.ids[-1] == -2
        body = window.ids[window.offset : window.offset + window.count]
        assert body == tuple(range(window.first, window.first + window.count))
        assert window.offset + window.count == len(window.ids) - 1
        covered.extend(body)
    assert covered == list(range(context, len(tokens.ids)))


@given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=12))
def test_windows_end_at_sentence_ends_where_sentences_fit(lengths):
    sentences = make_sentences(lengths)
    tokens = make_tokens(4 + sum(lengths))
    windows = cut_windows(tokens, owner=0, context_end=4, sentences=sentences, max_tokens=26)
    ends = {4 + span.end for span in sentences}
    assert all(window.first + window.count in ends for window in windows)


def test_windows_are_filled():
    sentences = make_sentences([6, 6, 6, 6])
    windows = cut_windows(
        make_tokens(24), owner=0, context_end=0, sentences=sentences, max_tokens=16
    )
    assert [window.count for window in windows] == [12, 12]


def test_every_window_starts_with_the_context_and_a_long_one_is_held_to_half():
    sentences = make_sentences([20])
    windows = cut_windows(
        make_tokens(50), owner=0, context_end=30, sentences=sentences, max_tokens=22
    )
    assert len(windows) == 2
    assert all(window.ids[1:11] == tuple(range(10)) for window in windows)
    assert [window.count for window in windows] == [10, 10]


def test_no_text_is_one_window_of_special_tokens():
    windows = cut_windows(make_tokens(0), owner=0, context_end=0, sentences=(), max_tokens=8)
    assert windows == [Window(0, (-1, -2), 1, 0, 0)]


def test_ranges_of_sentences_follow_their_characters():
    tokens = Tokens((), [1, 2, 3, 4], [0, 5, 9, 14], ())
    found = sentence_ranges(
        tokens, context_end=5, sentences=[Span(0, 4), Span(4, 5), Span(5, 8), Span(8, 20)]
    )
    assert found == [(1, 2), (2, 3), (3, 3), (3, 4)]


@given(lengths=st.lists(st.integers(1, 50), max_size=40), budget=st.integers(1, 200))
def test_batches_hold_each_window_once_within_the_budget(lengths, budget):
    windows = [Window(0, tuple(range(length)), 0, 0, length) for length in lengths]
    batches = list(batch_windows(windows, batch_tokens=budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(lengths[index] for index in batch)
        assert padded <= budget or len(batch) == 1
    order = [lengths[index] for batch in batches for index in batch]
    assert order == sorted(order, reverse=True)
