"""Tokenize texts for local encoders (WordPiece, SentencePiece unigram) and cut them into windows.

Tokens have character offsets. A passage that fits the model is one window; a longer one is cut at
the ends of sentences, and a longer sentence at tokens. Nothing is left out, and every window starts
with the context of its passage.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import required
from knotwork.records import Span

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised text: token ids and the offset of each token's first character, ascending.

    ``head`` and ``tail`` are the special tokens that the model expects around a sequence.
    """

    head: tuple[int, ...]
    ids: Sequence[int]
    starts: Sequence[int]
    tail: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.head) + len(self.ids) + len(self.tail)


@dataclass(frozen=True, slots=True)
class Window:
    """The input of one pass of the model over a part of passage ``owner``.

    ``ids`` is the whole sequence: the head and the context, then at position ``offset + i`` token
    ``first + i`` of the passage, for ``i`` below ``count``.
    """

    owner: int
    ids: tuple[int, ...]
    offset: int
    first: int
    count: int


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which tokenizers cannot read, without changing offsets."""
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

    ``context_end`` is the offset at which the text begins; ``sentences`` are relative to it. If
    context and text do not fit together, the context gets at most half of each window.
    """
    context_count = bisect_left(tokens.starts, context_end)
    if len(tokens) <= max_tokens:
        whole = (*tokens.head, *tokens.ids, *tokens.tail)
        offset = len(tokens.head) + context_count
        return [Window(owner, whole, offset, context_count, len(tokens.ids) - context_count)]
    limit = max_tokens - len(tokens.head) - len(tokens.tail)
    prefix = (*tokens.head, *tokens.ids[: min(context_count, limit // 2)])
    limit -= len(prefix) - len(tokens.head)
    ends = [bisect_left(tokens.starts, context_end + sentence.end) for sentence in sentences]
    return [
        Window(
            owner, (*prefix, *tokens.ids[first:end], *tokens.tail), len(prefix), first, end - first
        )
        for first, end in _cut_ranges(context_count, len(tokens.ids), ends=ends, limit=limit)
    ]


def sentence_ranges(
    tokens: Tokens, *, context_end: int, sentences: Sequence[Span]
) -> list[tuple[int, int]]:
    """Return the half-open range of the tokens of each sentence, which may be empty."""
    return [
        (
            bisect_left(tokens.starts, context_end + sentence.start),
            bisect_left(tokens.starts, context_end + sentence.end),
        )
        for sentence in sentences
    ]


def batch_windows(windows: Sequence[Window], *, batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of indices into ``windows``, longest first.

    Each batch has at most ``batch_tokens`` tokens with padding, or a single window. Windows of
    similar length share a batch, which keeps padding small, and the largest batch comes first, so
    that a lack of memory shows at once.
    """
    order = sorted(range(len(windows)), key=lambda index: (-len(windows[index].ids), index))
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // max(1, len(windows[order[start]].ids)))
        yield order[start : start + size]
        start += size


def _cut_ranges(
    first: int, last: int, *, ends: Sequence[int], limit: int
) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most ``limit`` tokens that end at the end of a sentence if possible."""
    while last - first > limit:
        fitting = bisect_left(ends, first + limit + 1) - 1
        end = ends[fitting] if fitting >= 0 and ends[fitting] > first else first + limit
        yield first, end
        first = end
    yield first, last


class WordPieceTokenizer:
    """Splits text into the ids of a lower-case WordPiece vocabulary (piece to id).

    Raises MissingExtra without the library `tokenizers`.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        with required("A model with a WordPiece vocabulary", "local"):
            from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
        self._tokenizer = Tokenizer(models.WordPiece(dict(vocabulary), unk_token="[UNK]"))  # noqa: S106
        self._tokenizer.normalizer = normalizers.BertNormalizer()
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        self._head, self._tail = (vocabulary["[CLS]"],), (vocabulary["[SEP]"],)

    def encode(self, text: str) -> Tokens:
        """Return the tokens of a text of any length."""
        found = self._tokenizer.encode(replace_surrogates(text), add_special_tokens=False)
        return Tokens(self._head, found.ids, [start for start, _ in found.offsets], self._tail)


SPACE = "\u2581"
"""Marks the beginning of a word in a piece."""

_UNKNOWN_PENALTY = 10.0
"""Difference in log probability of the rarest piece and an unknown one, as in SentencePiece."""
_REACH_FACTOR = 7_919
_CACHED_WORDS = 200_000
_LONGEST_CACHED_WORD = 24
_HANGUL_VOWELS_AND_FINALS = range(0x1160, 0x1200)
_HALF_WIDTH_VOICING = re.compile("[\uff9e\uff9f]")


class Vocabulary:
    """Pieces by their text, in an open-addressing hash table of CRC-32.

    ``slots`` (int32, its length a power of two) holds the number of a piece or -1, ``offsets`` the
    start of each piece in ``text`` (UTF-8), ``scores`` their log probabilities. ``reaches`` (uint8,
    its length a power of two) bounds the length, in characters, of the pieces that start with the
    same two characters; see `build_reaches`.
    """

    def __init__(
        self,
        slots: NDArray[np.int32],
        offsets: NDArray[np.uint32],
        text: NDArray[np.uint8],
        scores: NDArray[np.float32],
        reaches: NDArray[np.uint8],
    ) -> None:
        self._slots = memoryview(slots.data)
        self._offsets = memoryview(offsets.data)
        self._text = memoryview(text.data)
        self._scores = memoryview(scores.data)
        self._mask = len(slots) - 1
        self.reaches = memoryview(reaches.data)
        self.lowest_score = float(scores.min())

    def find(self, piece: str) -> tuple[int, float] | None:
        """Return the number and the score of a piece, or None if it is unknown."""
        wanted = piece.encode("utf-8", "surrogatepass")  # no piece has a lone surrogate
        slot = crc32(wanted) & self._mask
        while (number := self._slots[slot]) >= 0:
            if self._text[self._offsets[number] : self._offsets[number + 1]] == wanted:
                return number, self._scores[number]
            slot = (slot + 1) & self._mask
        return None


def reach_slot(first: str, second: str, mask: int) -> int:
    """Return the index of two characters in ``Vocabulary.reaches`` of length ``mask`` + 1."""
    return (ord(first) * _REACH_FACTOR + ord(second)) & mask


def build_reaches(pieces: Sequence[str], *, size: int = 1 << 20) -> NDArray[np.uint8]:
    """Return the length of the longest piece by its first two characters, see `reach_slot`."""
    reaches = np.zeros(size, dtype=np.uint8)
    for piece in pieces:
        if len(piece) > 1:
            slot = reach_slot(piece[0], piece[1], size - 1)
            reaches[slot] = max(reaches[slot], min(len(piece), 255))
    return reaches


def build_slots(pieces: Sequence[bytes], *, load: float = 0.5) -> NDArray[np.int32]:
    """Build the hash table of `Vocabulary` for these pieces; empty pieces get no slot."""
    size = 1 << math.ceil(math.log2(max(len(pieces), 1) / load))
    slots = [-1] * size
    for number, piece in enumerate(pieces):
        if piece:
            slot = crc32(piece) & (size - 1)
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            slots[slot] = number
    return np.array(slots, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of tokens that do not represent text."""

    begin: int
    end: int
    unknown: int


class UnigramTokenizer:
    """Splits text into the ids of a unigram model.

    ``replacements`` maps characters to their normal form in the model's training data (NFKC and
    more).
    """

    def __init__(
        self, vocabulary: Vocabulary, special: SpecialTokens, replacements: Mapping[str, str]
    ) -> None:
        self._vocabulary = vocabulary
        self._special = special
        self._replacements = replacements
        self._unknown_score = vocabulary.lowest_score - _UNKNOWN_PENALTY
        self._pieces: dict[str, tuple[int, float] | None] = {}
        self._words: dict[str, list[tuple[int, int]]] = {}

    def encode(self, text: str) -> Tokens:
        """Return the tokens of a text of any length."""
        characters, starts = self._normalise(text)
        ids: list[int] = []
        places: list[int] = []
        begin = 0
        for word in characters.split(" "):
            if word:
                for piece_id, place in self._segment_word(word):
                    ids.append(piece_id)
                    places.append(starts[begin + place])
            begin += len(word) + 1
        return Tokens((self._special.begin,), ids, places, (self._special.end,))

    def _normalise(self, text: str) -> tuple[str, Sequence[int]]:
        """Return the text in the model's normal form, and the original offset of each character."""
        if text.isascii() and text.isprintable():
            return text, range(len(text))
        replacements = self._replacements
        parts: list[str] = []
        starts: list[int] = []
        for start, cluster in _clusters(text):
            for character in cluster:
                replaced = replacements.get(character, character)
                parts.append(replaced)
                starts.extend([start] * len(replaced))
        return "".join(parts), starts

    def _segment_word(self, word: str) -> list[tuple[int, int]]:
        """Return the ids of a word's pieces, each with its offset in the word."""
        known = self._words.get(word)
        if known is None:
            known = self._segment(SPACE + word)
            if len(word) <= _LONGEST_CACHED_WORD:
                if len(self._words) >= _CACHED_WORDS:
                    self._words.clear()
                self._words[word] = known
        return known

    def _segment(self, marked: str) -> list[tuple[int, int]]:
        """Return the best segmentation of a word after its mark, by the Viterbi algorithm."""
        count = len(marked)
        best = [0.0] + [-math.inf] * count
        arrivals: list[tuple[int, int]] = [(0, 0)] * (count + 1)
        unknown = self._special.unknown
        if len(self._pieces) >= _CACHED_WORDS * 4:
            self._pieces.clear()
        pieces, find = self._pieces, self._vocabulary.find
        reaches = self._vocabulary.reaches
        mask = len(reaches) - 1
        for start in range(count):
            reached = best[start]
            if reached + self._unknown_score > best[start + 1]:
                best[start + 1] = reached + self._unknown_score
                arrivals[start + 1] = unknown, start
            last = start + 1
            if last < count:
                reach = reaches[reach_slot(marked[start], marked[last], mask)]
                last = min(count, start + max(reach, 1))
            for end in range(start + 1, last + 1):
                piece = marked[start:end]
                try:
                    found = pieces[piece]
                except KeyError:
                    found = pieces[piece] = find(piece)
                if found is not None and reached + found[1] > best[end]:
                    best[end] = reached + found[1]
                    arrivals[end] = found[0], start
        segments: list[tuple[int, int]] = []
        end = count
        while end > 0:
            piece_id, start = arrivals[end]
            if segments and piece_id == unknown == segments[-1][0]:
                segments.pop()  # neighbouring unknown characters are one token
            segments.append((piece_id, max(start - 1, 0)))  # without the mark
            end = start
        segments.reverse()
        return segments


def _clusters(text: str) -> list[tuple[int, str]]:
    """Return the characters of a text with their offsets, composed with their combining marks."""
    if unicodedata.is_normalized("NFC", text) and not _HALF_WIDTH_VOICING.search(text):
        return list(enumerate(text))
    clusters: list[tuple[int, str]] = []
    for offset, character in enumerate(text):
        if clusters and (
            unicodedata.combining(character)
            or ord(character) in _HANGUL_VOWELS_AND_FINALS
            or _HALF_WIDTH_VOICING.match(character)
        ):
            start, before = clusters[-1]
            clusters[-1] = start, before + character
        else:
            clusters.append((offset, character))
    # As in the model's own table, only half-width kana are composed with their marks by NFKC.
    return [
        (start, unicodedata.normalize("NFKC" if _HALF_WIDTH_VOICING.search(own) else "NFC", own))
        for start, own in clusters
    ]
