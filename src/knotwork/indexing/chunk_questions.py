"""Questions that a chunk answers, written by rules or by a model and searched beside its text.

By rules, a sentence that mentions several entities is asked about each of them: the entity is
replaced by the question word of its type, which moves to the front. The questions need not read
well; they have the words that a person would use, with the answer missing. A pronoun at the
beginning is replaced by what the chunk is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knotwork.errors import ModelError, Unparsable
from knotwork.indexing.batch_requests import batches_by_language, make_messages
from knotwork.indexing.embedding import Embedding
from knotwork.indexing.prepared import Prepared
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, complete_checked
from knotwork.records import Chunk, Extraction, Mention, Span, content_id
from knotwork.stores.base import FloatMatrix, Store
from knotwork.stores.extensions import StoresQuestions
from knotwork.text.languages import detect_language
from knotwork.text.terms import content_terms

QUESTIONS = "question"
"""The text index, and the vector index, of questions, by the ids of their chunks."""

STAGE = "questions"
TASK = "write-questions"
MOST_QUESTIONS = 5
"""For each chunk."""

CHUNKS_A_CALL = 6
FEWEST_TERMS = 3
"""A question of fewer content terms could be about anything."""

_OUTPUT_TOKENS = 90
_LONGEST_SENTENCE = 300
_OWN = 0.8
"""Aboutness from which an entity is what a chunk is about."""

_WORDS = {
    "en": {"person": "Who", "place": "Where", "date": "When", "number": "How many", "": "What"},
    "zh": {"person": "谁", "place": "哪里", "date": "何时", "number": "多少", "": "什么"},
}
_PRONOUN = {
    "en": re.compile(
        r"^(?:he|she|it|they|the (?:company|film|song|album|band|book|city))\b", re.IGNORECASE
    ),
    "zh": re.compile(r"^(?:他|她|它|该(?:公司|片|书|市|校))"),
}
_DATE = re.compile(
    r"\b(?:(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December)(?: \d{1,2})?,? \d{4}|1\d{3}|20\d\d)\b|\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?"
)
_NUMBERED = re.compile(r"\W*(\d{1,3})\s*[|:：.、)）\]]\s*(\S.*)")
_ENDS = " \t\r\n.。!！;；,，:：?？"


@dataclass(frozen=True, slots=True)
class QuestionWriter:
    """Writes the questions of chunks, ``most`` for each; with ``model`` several chunks a call.

    What a model fails to write the rules do.
    """

    model: ChatModel | None = None
    most: int = MOST_QUESTIONS

    @property
    def identity(self) -> str:
        """What tells its questions from others'; the model itself does not count."""
        return questions_identity("model" if self.model else "rules", self.most)

    def write(
        self, chunks: Sequence[Chunk], extractions: Sequence[Extraction]
    ) -> dict[str, tuple[str, ...]]:
        """Return questions by chunk id; a chunk that answers none is absent."""
        mentions = {extraction.chunk_id: extraction.mentions for extraction in extractions}
        found = {
            chunk.id: questions_of(chunk, mentions.get(chunk.id, ()), most=self.most)
            for chunk in chunks
        }
        if self.model is not None:
            for language, batch in batches_by_language(
                chunks, lambda chunk: chunk.text, size=CHUNKS_A_CALL
            ):
                found |= self._ask(language, batch, self.model)
        return {key: questions for key, questions in found.items() if questions}

    def _ask(
        self, language: str, chunks: Sequence[Chunk], model: ChatModel
    ) -> dict[str, tuple[str, ...]]:
        """Return what a model asks about some chunks; nothing where it fails."""
        told = "\n".join(
            f"[{number}] {' '.join(f'{chunk.context} | {chunk.text}'.split())}"
            for number, chunk in enumerate(chunks, start=1)
        )
        request = ChatRequest(
            make_messages(TASK, language, told),
            max_output_tokens=_OUTPUT_TOKENS * len(chunks),
            stage=STAGE,
        )
        try:
            read = complete_checked(model, request, _read_reply)
        except ModelError:
            return {}  # the rules' questions stay
        return {
            chunks[number - 1].id: tuple(questions[: self.most])
            for number, questions in read.items()
            if 1 <= number <= len(chunks)
        }


def questions_identity(way: str, most: int = MOST_QUESTIONS) -> str:
    """Return the part of a fingerprint for questions written by "rules" or by a "model"."""
    return f"questions {way} {most}"


def write_questions(
    writer: QuestionWriter, documents: Sequence[Prepared]
) -> dict[str, tuple[str, ...]]:
    """Return the questions of the chunks of documents, by chunk id."""
    chunks = [chunk for document in documents for chunk in document.leaves]
    return writer.write(chunks, [e for document in documents for e in document.extractions])


def put_questions(
    store: Store, questions: Mapping[str, Sequence[str]], embedding: Embedding
) -> None:
    """Write the questions of chunks into the index, in its transaction."""
    store.texts(QUESTIONS).add((key, "\n".join(asked)) for key, asked in questions.items())
    if isinstance(store, StoresQuestions):
        store.questions.put(questions)
    if embedding:
        store.vectors(QUESTIONS).put(embed_questions(questions, embedding))


def embed_questions(
    questions: Mapping[str, Sequence[str]], embedding: Embedding
) -> list[tuple[str, str, FloatMatrix]]:
    """Return the chunk id, the content key and the vectors of questions in a language it reads."""
    read = {key: asked for key, asked in questions.items() if embedding.reads(asked[0])}
    if not read:
        return []
    rows = embedding.embed_names([question for asked in read.values() for question in asked])
    items: list[tuple[str, str, FloatMatrix]] = []
    start = 0
    for key, asked in read.items():
        matrix = np.asarray(rows[start : start + len(asked)])
        items.append((key, content_id("questions", embedding.name, *asked), matrix))
        start += len(asked)
    return items


def questions_of(
    chunk: Chunk, mentions: Sequence[Mention], *, most: int = MOST_QUESTIONS
) -> tuple[str, ...]:
    """Return questions that a chunk answers by rules, those of its first sentences first.

    Each sentence is asked about at most twice, so that a chunk is asked about throughout.
    """
    language = "zh" if detect_language(chunk.text) == "zh" else "en"
    subject = _subject(chunk, mentions)
    rounds: list[list[str]] = [[], []]
    for number, span in enumerate(chunk.sentences):
        sentence = chunk.sentence_text(number)
        if len(sentence) > _LONGEST_SENTENCE:
            continue
        asked = 0
        for part, kind in _answers(chunk, span, mentions):
            question = _ask_for(sentence, part, kind, subject, language)
            if question and asked < len(rounds):
                rounds[asked].append(question)
                asked += 1
    found = [question for level in rounds for question in level]
    return tuple(dict.fromkeys(found))[:most]


def _subject(chunk: Chunk, mentions: Sequence[Mention]) -> str:
    """Return what a chunk is about, or the title above it."""
    own = max(mentions, key=lambda m: (m.about, m.name), default=None)
    if own is not None and own.about >= _OWN:
        return own.name
    return chunk.document_title


def _answers(chunk: Chunk, sentence: Span, mentions: Sequence[Mention]) -> list[tuple[Span, str]]:
    """Return what in a sentence can be asked for, the last first, with the kind of its type.

    What a sentence says of its subject mostly stands at its end.
    """
    parts: dict[Span, str] = {}
    for mention in mentions:
        for span in mention.spans:
            if sentence.start <= span.start and span.end <= sentence.end:
                inside = Span(span.start - sentence.start, span.end - sentence.start)
                if mention.about < _OWN:
                    parts[inside] = _kind(mention.type)
    start = chunk.span.start
    for match in _DATE.finditer(chunk.text[sentence.start - start : sentence.end - start]):
        parts[Span(*match.span())] = "date"
    return sorted(parts.items(), key=lambda item: (-item[0].end, item[0].start))


def _kind(entity_type: str) -> str:
    kind = entity_type.casefold()
    for known, parts in {
        "person": ("person", "人"),
        "place": ("place", "location", "city", "country", "地"),
        "date": ("date", "time", "时间"),
        "number": ("number", "quantity", "数"),
    }.items():
        if any(part in kind for part in parts):
            return known
    return ""


def _ask_for(sentence: str, part: Span, kind: str, subject: str, language: str) -> str:
    """Return a sentence as the question for one of its parts; empty where little is left of it."""
    rest = sentence[: part.start] + (" " if language == "en" else "") + sentence[part.end :]
    rest = " ".join(rest.split()).strip(_ENDS)
    pronoun = _PRONOUN[language].match(rest)
    if pronoun and subject:
        rest = subject + rest[pronoun.end() :]
    elif subject and subject.casefold() not in rest.casefold():
        rest = f"{subject}: {rest}" if language == "en" else f"{subject}，{rest}"
    if len(set(content_terms(rest))) < FEWEST_TERMS:
        return ""
    word = _WORDS[language][kind]
    return f"{word} {rest}?" if language == "en" else f"{rest}，{word}？"


def _read_reply(reply: ChatReply) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for line in reply.text.splitlines():
        if (match := _NUMBERED.match(line)) and content_terms(match[2]):
            found.setdefault(int(match[1]), []).append(match[2].strip())
    if not found:
        raise Unparsable("The reply holds no numbered question.")
    return found
