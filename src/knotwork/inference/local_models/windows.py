"""Windows: passages of any length as token sequences that a model can read in one pass.

Nothing is left out. A passage that fits is one window; a longer one is cut at the ends of
sentences, and a sentence longer than a window at tokens. Every window starts with the context
of its passage.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knotwork.records import Span

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised text: ids and the character at which each token starts (never descending).

    ``head`` and ``tail`` are the special tokens that the model wants around a sequence.
    """

    head: tuple[int, ...]
    ids: Sequence[int]
    starts: Sequence[int]
    tail: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.head) + len(self.ids) + len(self.tail)


@dataclass(frozen=True, slots=True)
class Window:
    """One pass of the model over a part of passage ``owner``.

    ``ids`` is the whole sequence. Its position ``offset + i`` holds token ``first + i`` of the
    passage, for ``i`` below ``count``; what stands before is the head and the context.
    """

    owner: int
    ids: tuple[int, ...]
    offset: int
    first: int
    count: int


def replace_surrogates(text: str) -> str:
    """Replace each half of a surrogate pair, which tokenizers cannot read, one for one."""
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def cut_windows(
    tokens: Tokens,
    *,
    owner: int,
    context_end: int,
    sentences: Sequence[Span],
    max_tokens: int,
) -> list[Window]:
    """Cut a tokenised "context. text" into windows of at most ``max_tokens``.

    ``context_end`` is the character at which the text begins; ``sentences`` count from there. Where
    context and text do not fit together, the context is held to half of the window.
    """
    context_count = bisect_left(tokens.starts, context_end)
    if len(tokens) <= max_tokens:
        whole = (*tokens.head, *tokens.ids, *tokens.tail)
        offset = len(tokens.head) + context_count
        return [Window(owner, whole, offset, context_count, len(tokens.ids) - context_count)]
    room = max_tokens - len(tokens.head) - len(tokens.tail)
    lead = (*tokens.head, *tokens.ids[: min(context_count, room // 2)])
    room -= len(lead) - len(tokens.head)
    ends = [bisect_left(tokens.starts, context_end + sentence.end) for sentence in sentences]
    return [
        Window(owner, (*lead, *tokens.ids[first:end], *tokens.tail), len(lead), first, end - first)
        for first, end in _cut(context_count, len(tokens.ids), ends=ends, room=room)
    ]


def sentence_ranges(
    tokens: Tokens, *, context_end: int, sentences: Sequence[Span]
) -> list[tuple[int, int]]:
    """Return, for each sentence, the half-open range of its tokens, which may be empty."""
    return [
        (
            bisect_left(tokens.starts, context_end + sentence.start),
            bisect_left(tokens.starts, context_end + sentence.end),
        )
        for sentence in sentences
    ]


def batch_windows(windows: Sequence[Window], *, batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of indices into ``windows``, longest first, each of at most ``batch_tokens``
    tokens with padding (or of one window).

    Windows of like length stand together, so that little is padded, and the first batch, the
    largest, shows at once whether memory suffices.
    """
    order = sorted(range(len(windows)), key=lambda index: (-len(windows[index].ids), index))
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // max(1, len(windows[order[start]].ids)))
        yield order[start : start + size]
        start += size


def _cut(first: int, last: int, *, ends: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most ``room`` tokens that end at sentence ends where they can."""
    while last - first > room:
        fitting = bisect_left(ends, first + room + 1) - 1
        end = ends[fitting] if fitting >= 0 and ends[fitting] > first else first + room
        yield first, end
        first = end
    yield first, last
