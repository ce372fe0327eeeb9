"""Answers that a path of the graph leads to, each with the sentences that state its relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from knotwork.config import AnswerSettings
from knotwork.records import Answer, Chunk, Evidence, GraphPath, Hop, Span, Usage
from knotwork.stores.base import Store
from knotwork.synthesis.citing import cite_sentences, gap_before_mark
from knotwork.synthesis.messages import also_reached
from knotwork.synthesis.selection import Selected
from knotwork.text.languages import detect_language

MOST_NAMES = 20
"""Answers that are told by name; of more their number is."""
_SEPARATORS = {"en": ", ", "zh": "、"}


def find_leading_path(evidence: Evidence, *, least: float) -> GraphPath | None:
    """Return the path that most likely answers, if its probability is at least ``least``."""
    path = next(iter(evidence.paths), None)
    if path is None or not path.answers:
        return None
    from knotwork.retrieval.paths.citing import LIKELY

    probability = path.scores.get("probability", 0.0)
    return path if probability >= max(least, LIKELY) else None


def compose_path_answer(
    evidence: Evidence,
    path: GraphPath,
    *,
    store: Store,
    settings: AnswerSettings,
    usage: Usage | None = None,
) -> Answer | None:
    """Answer with the names that a path leads to, or return None where it does not lead so far.

    Only what an imported graph states is an answer by itself. In texts relations hold in their
    context alone: of eleven paths as likely as not, on questions of five sets, none was right.
    Names that are cited come first, each with the marks of its hops; all others over the same
    relations behind them. At most twice ``settings.max_sentences`` are cited: hops are short.
    """
    walks = (path.hops, *path.walks)
    cited = _Cited(walks, store, most=2 * settings.max_sentences)
    told = [
        (name, numbers)
        for name, hops in zip(path.answers, walks, strict=False)
        if (numbers := cited.cite(hops))
    ]
    if not told:
        return None
    language = detect_language(evidence.query.text)
    probability = path.scores["probability"]
    return Answer(
        question=evidence.query.text,
        text=_tell(told, path.answers, language),
        answered=True,
        citations=tuple(
            replace(citation, score=probability)
            for citation in cite_sentences(cited.sentences, store)
        ),
        confidence=probability,
        retriever=evidence.retriever,
        usage=usage or Usage(),
        notes=evidence.notes,
    )


def _tell(told: list[tuple[str, tuple[int, ...]]], answers: Iterable[str], language: str) -> str:
    separator = _SEPARATORS.get(language, _SEPARATORS["en"])
    parts = [
        name + gap_before_mark(name) + "".join(f"[{number}]" for number in numbers)
        for name, numbers in told
    ]
    known = {name for name, _ in told}
    others = [name for name in dict.fromkeys(answers) if name not in known]
    text = separator.join(parts)
    if others:
        room = max(MOST_NAMES - len(told), 0)
        more = also_reached(language, names=separator.join(others[:room]), left=len(others[room:]))
        text += more
    return text


class _Cited:
    """The sentences that state hops, numbered from 1 in the order in which they are needed."""

    def __init__(self, walks: Iterable[Iterable[Hop]], store: Store, *, most: int) -> None:
        from knotwork.retrieval.paths.statements import find_statements

        chunks = store.documents.chunks({hop.chunk_id for hops in walks for hop in hops})
        stating = find_statements(chunks.values(), store)
        self._chunks = {key: chunk for key, chunk in chunks.items() if key in stating}
        self._most = most
        self._numbers: dict[tuple[str, Span], int] = {}
        self.sentences: list[Selected] = []

    def cite(self, hops: Iterable[Hop]) -> tuple[int, ...]:
        """Return the numbers of the sentences that state these hops; nothing where one is not
        stated, or there would be too many.
        """
        stated = [(hop.chunk_id, hop.span) for hop in hops]
        found = [
            (self._chunks[chunk_id], sentence)
            for chunk_id, span in stated
            if span is not None and chunk_id in self._chunks
            for sentence in _sentence_of(self._chunks[chunk_id], span)
        ]
        if len(found) < len(stated) or not stated:
            return ()
        new = dict.fromkeys(k for c, s in found if (k := (c.id, s)) not in self._numbers)
        if len(self.sentences) + len(new) > self._most:
            return ()
        for chunk, sentence in found:
            self._add(chunk, sentence)
        return tuple(dict.fromkeys(self._numbers[chunk.id, s] for chunk, s in found))

    def _add(self, chunk: Chunk, sentence: Span) -> None:
        key = (chunk.id, sentence)
        if key in self._numbers:
            return
        start = chunk.span.start
        text = chunk.text[sentence.start - start : sentence.end - start]
        self._numbers[key] = len(self.sentences) + 1
        self.sentences.append(Selected(chunk, sentence, text, 1.0, len(self.sentences)))


def _sentence_of(chunk: Chunk, span: Span) -> Iterator[Span]:
    """Yield the sentence of a chunk in which a span begins."""
    for sentence in chunk.sentences:
        if sentence.start <= span.start < sentence.end:
            yield sentence
            return
