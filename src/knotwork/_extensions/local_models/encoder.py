"""Tokenize texts, cut them into windows, and run BERT-like encoders on them, on onnxruntime.

Tokens (WordPiece, SentencePiece unigram) have character offsets. A passage that fits the model is
one window; a longer one is cut at the ends of sentences, and a longer sentence at tokens. Nothing
is left out, and every window starts with the context of its passage.

The graphs in `graphs/` contain no weights (`scripts/build_encoder_graphs.py` builds them); these
come from memory-mapped files of installed packages, so that a model is on the disk only once. Word
embeddings are looked up here, row by row.

Sequences run one at a time: dynamic quantisation scales the activations of the whole batch, so a
vector would otherwise depend on the other texts of its batch.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from knotwork._durable_files import replace_file
from knotwork._inference.embedder import FloatMatrix, PassageText
from knotwork.errors import ModelError, required
from knotwork.records import Span

_GRAPHS = Path(__file__).with_name("graphs")
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


class Encoder(Protocol):
    """A loaded model: tokens in, vectors out.

    ``gives_tokens`` is True if the model's own vector of a text is the plain mean of its token
    vectors, so that parts of a text can be pooled from one pass over the whole. Otherwise
    `encode_sequences` is used. ``reads_together`` is True if several sequences in one call take
    less time than one by one.
    """

    max_tokens: int
    dimension: int
    question_prompt: str
    passage_prompt: str
    gives_tokens: bool
    reads_together: bool

    def tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts of any length."""

    def encode_tokens(self, sequences: Sequence[Sequence[int]]) -> list[FloatMatrix]:
        """Return the token vectors of each sequence, of shape (its length, dimension)."""

    def encode_sequences(self, sequences: Sequence[Sequence[int]]) -> FloatMatrix:
        """Return one vector for each sequence, pooled as the model does it."""


@dataclass(frozen=True, slots=True)
class CutPassage:
    """A tokenised passage, behind a prompt and its titles.

    Its text begins at the offset ``text_start``. ``sentences`` are the half-open ranges of the
    tokens of its sentences, ``windows`` the inputs of the model.
    """

    tokens: Tokens
    text_start: int
    sentences: list[tuple[int, int]]
    windows: list[Window]


def cut_passages(
    encoder: Encoder, prompt: str, passages: Sequence[PassageText]
) -> list[CutPassage]:
    """Tokenize passages and cut them into windows, whose owners are their places in the list."""
    prefixes = [f"{prompt}{each.context}. " if each.context else prompt for each in passages]
    texts = [prefix + each.text for prefix, each in zip(prefixes, passages, strict=True)]
    tokens = encoder.tokenise([replace_surrogates(text) for text in texts])
    cut: list[CutPassage] = []
    for own, prefix, each in zip(tokens, prefixes, passages, strict=True):
        start = len(prefix)
        windows = cut_windows(
            own,
            owner=len(cut),
            context_end=start,
            sentences=each.sentences,
            max_tokens=encoder.max_tokens,
        )
        ranges = sentence_ranges(own, context_end=start, sentences=each.sentences)
        cut.append(CutPassage(own, start, ranges, windows))
    return cut


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
                known = self._words.get(word)
                if known is None:
                    known = self._segment(SPACE + word)
                    if len(word) <= _LONGEST_CACHED_WORD:
                        if len(self._words) >= _CACHED_WORDS:
                            self._words.clear()
                        self._words[word] = known
                for piece_id, place in known:
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

    def _segment(self, marked: str) -> list[tuple[int, int]]:
        """Return the ids of a word's pieces, each with its offset in the word behind its mark.

        It is the best segmentation, by the Viterbi algorithm.
        """
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


class Tokenizer(Protocol):
    """Splits text into tokens, each with the offset of its first character."""

    def encode(self, text: str) -> Tokens: ...


class Rows(Protocol):
    """The embeddings of tokens by their ids."""

    def __getitem__(self, ids: NDArray[np.int64], /) -> FloatMatrix: ...


BLOCK_VALUES, BLOCK_BYTES = 32, 18


class PackedRows:
    """Rows of blocks of 32 values: a half-precision scale, then 4 bits each, minus 8.

    The low halves of the bytes are the first 16 values, the high halves the other 16. ``blocks``
    has the shape (rows, blocks of a row, 18).
    """

    def __init__(self, blocks: NDArray[np.uint8]) -> None:
        self._blocks = blocks

    def __getitem__(self, ids: NDArray[np.int64] | slice, /) -> FloatMatrix:
        """Return the values of these rows, in single precision."""
        blocks = self._blocks[ids]
        values = np.empty((*blocks.shape[:-1], BLOCK_VALUES), dtype=np.float32)
        values[..., : BLOCK_VALUES // 2] = blocks[..., 2:] & 15
        values[..., BLOCK_VALUES // 2 :] = blocks[..., 2:] >> 4
        values -= 8
        values *= blocks[..., :2].copy().view("<f2").astype(np.float32)
        return values.reshape(len(blocks), -1)


@dataclass(frozen=True, slots=True)
class ModelParts:
    """The parts of an encoder, as read from the files of a model.

    ``graphs`` run one after the other; ``weights`` have the names used in them. ``words`` has a row
    for each token id, ``positions`` for each position of a sequence, token type included.
    """

    graphs: tuple[str, ...]
    tokenizer: Tokenizer
    weights: Mapping[str, NDArray[Any]]
    words: Rows
    positions: FloatMatrix
    question_prompt: str = ""
    passage_prompt: str = ""


_KEPT_STATES = 64
"""Sequences whose states are kept: 384 KB for 250 tokens of 384 values. Questions about the same
documents read the same passages."""


class TransformerEncoder:
    """A loaded encoder. Thread-safe; each forward pass runs in the calling thread.

    Raises MissingExtra without onnxruntime, ModelError if the weights do not fit the graph.
    """

    gives_tokens = True
    reads_together = False

    def __init__(self, parts: ModelParts) -> None:
        self._parts = parts
        self._tokenizer = parts.tokenizer
        self.max_tokens, self.dimension = parts.positions.shape
        self.question_prompt = parts.question_prompt
        self.passage_prompt = parts.passage_prompt
        self._sessions = [_open_graph(name, parts.weights) for name in parts.graphs]
        self._states = lru_cache(_KEPT_STATES)(partial(self._forward, graphs=1))

    def tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts of any length."""
        return [self._tokenizer.encode(text) for text in texts]

    def encode_tokens(self, sequences: Sequence[Sequence[int]]) -> list[FloatMatrix]:
        """Return the token vectors of each sequence, of shape (its length, dimension)."""
        return [self._forward(sequence) for sequence in sequences]

    def encode_sequences(self, sequences: Sequence[Sequence[int]]) -> FloatMatrix:
        """Return one vector for each sequence: the mean of its token vectors."""
        return np.stack([self._forward(sequence).mean(axis=0) for sequence in sequences])

    def encode_states(self, sequence: Sequence[int]) -> FloatMatrix:
        """Return the output of the first graph for a sequence, of shape (its length, dimension).

        It is kept for later calls: do not change it.
        """
        return self._states(tuple(sequence))

    def _forward(self, sequence: Sequence[int], *, graphs: int | None = None) -> FloatMatrix:
        rows = self._parts.words[np.asarray(sequence, dtype=np.int64)]
        states = rows + self._parts.positions[: len(rows)]
        for session in self._sessions[:graphs]:
            ((states,),) = session.run(None, {"embeddings": states[np.newaxis]})
        return states


def _open_graph(name: str, weights: Mapping[str, NDArray[Any]]) -> Any:  # noqa: ANN401  untyped library
    """Return the session of a graph of this package, with the weights that the graph uses."""
    graph = (_GRAPHS / name).read_bytes()
    # onnxruntime refuses weights that the graph lacks; names are stored verbatim in the file.
    own = {key: array for key, array in weights.items() if key.encode() in graph}
    return open_session(graph, weights=own)


def open_session(
    graph: bytes | str, *, weights: Mapping[str, NDArray[Any]] | None = None, threads: int = 1
) -> Any:  # noqa: ANN401  untyped library
    """Return an onnxruntime session that runs on the CPU, without busy waiting.

    ``graph`` is a model or its path; ``weights`` are the arrays that it lacks. Raises MissingExtra
    without onnxruntime, ModelError if the model cannot be opened.
    """
    onnxruntime = _import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Level "extended" would fuse additions with layer normalisations, which takes four times as
    # long.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exception classes have no common base
        raise ModelError(f"onnxruntime cannot open the model: {first_line(error)}") from error


@cache
def _import_onnxruntime() -> Any:  # noqa: ANN401  untyped library
    """Return the library with its telemetry off. Raises MissingExtra if it is not installed.

    On import, some builds write a device id and usage events to the user's cache folder, to be sent
    to their maker, unless an environment variable forbids it.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    with required("A model on this machine", "local"):
        import onnxruntime
    return onnxruntime


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_TENSOR_TYPES: Mapping[str, str] = {
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U32": "<u4",
    "U8": "|u1",
}
_TENSOR_TYPE_NAMES = {kind: name for name, kind in _TENSOR_TYPES.items()}
_ALIGNMENT = 64
_MOST_HEADER_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class TensorFile:
    """The arrays of a safetensors file, as read-only views of its memory map, and its metadata."""

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]


def map_file(path: Path) -> mmap.mmap:
    """Return the memory map of a file. Raises ModelError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ModelError(f"The model file `{path}` cannot be read: {error}.") from error


def read_tensors(path: Path) -> TensorFile:
    """Open a safetensors file. Raises ModelError if it is damaged or of another format."""
    content = map_file(path)
    try:
        size = int.from_bytes(content[:8], "little")
        if not 2 <= size <= min(_MOST_HEADER_BYTES, len(content) - 8):
            raise ValueError("the header is longer than the file")  # noqa: TRY301
        header = json.loads(content[8 : 8 + size])
        metadata = dict(header.pop("__metadata__", {}))
        return TensorFile(
            {name: _tensor_view(content, 8 + size, entry) for name, entry in header.items()},
            metadata,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"The model file `{path}` is damaged: {error}.", fix="Reinstall its package."
        ) from error


def _tensor_view(content: mmap.mmap, base: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    kind = np.dtype(_TENSOR_TYPES[entry["dtype"]])
    if not 0 <= start <= end <= len(content) - base:
        raise ValueError("an array exceeds the file")
    flat = np.frombuffer(content, kind, count=(end - start) // kind.itemsize, offset=base + start)
    return flat.reshape(entry["shape"])


def write_tensors(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write arrays to a safetensors file atomically: readers see the old file or the new one."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)}
    position = 0
    for name, array in arrays.items():
        kind = _TENSOR_TYPE_NAMES[array.dtype.newbyteorder("<").str]
        entries[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes + -array.nbytes % _ALIGNMENT
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-(len(header) + 8) % _ALIGNMENT)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())
            file.write(b"\0" * (-array.nbytes % _ALIGNMENT))


def find_package_file(*files: tuple[str, str]) -> Path | None:
    """Return the path of the first of these files that is installed, each a package and a name.

    A package must be a top-level package, so that finding it imports nothing.
    """
    for package, name in files:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder, name)
            if path.is_file():
                return path
    return None


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
