"""Write questions that a chunk answers, by rules or by a model, to be searched like its text.

The rules turn a sentence into a question for each entity in it: they replace the entity by the
question word of its type, which moves to the front. The questions need not be grammatical; they
have the words that a person would use, without the answer. A pronoun at the beginning is replaced
by the main entity of the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork._extensions.model_indexing.batch_requests import batches_by_language, make_messages
from knotwork._indexing.chunk_questions import MOST_QUESTIONS, TASK
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, complete_checked
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_material import escape_passage, restore
from knotwork._questions.reading import open_pronoun
from knotwork._text.languages import prompt_language
from knotwork._text.terms import content_terms
from knotwork.errors import ModelError, Unparsable
from knotwork.records import Chunk, Extraction, Mention, Span

STAGE = "questions"
CHUNKS_A_CALL = 6
_OUTPUT_TOKENS = 90
FEWEST_TERMS = 3
"""Content terms of a question; with fewer, it would fit any chunk."""

_LONGEST_SENTENCE = 300
_OWN = 0.8
"""Least aboutness of the main entity of a chunk."""

_WORDS = {
    "en": {"person": "Who", "place": "Where", "date": "When", "number": "How many", "": "What"},
    "zh": {"person": "谁", "place": "哪里", "date": "何时", "number": "多少", "": "什么"},
}
_STANDING = ("one", "it", "the")
"""Openings that a name may replace; a possessive is not one of them."""
_DATE = re.compile(
    r"\b(?:(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December)(?: \d{1,2})?,? \d{4}|1\d{3}|20\d\d)\b|\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?"
)
_ENDS = " \t\r\n.。!！;；,，:：?？"
_NUMBERED = re.compile(r"\W*(\d{1,3})\s*[|:：.、)）\]]\s*(\S.*)")


@dataclass(frozen=True, slots=True)
class QuestionWriter:
    """Writes questions for each chunk, by rules or by ``model``.

    A model gets several chunks a call. Chunks without a usable reply get the rules' questions.
    """

    model: ChatModel | None = None

    def __call__(
        self, chunks: Sequence[Chunk], extractions: Sequence[Extraction]
    ) -> dict[str, tuple[str, ...]]:
        """Return questions by chunk id, without chunks that answer none."""
        mentions = {extraction.chunk_id: extraction.mentions for extraction in extractions}
        found = {chunk.id: questions_of(chunk, mentions.get(chunk.id, ())) for chunk in chunks}
        if self.model is not None:
            for language, batch in batches_by_language(
                chunks, lambda chunk: chunk.text, size=CHUNKS_A_CALL
            ):
                found |= _ask(self.model, language, batch)
        return {key: questions for key, questions in found.items() if questions}


def _ask(model: ChatModel, language: str, chunks: Sequence[Chunk]) -> dict[str, tuple[str, ...]]:
    material = "\n".join(
        f"[{number}] {escape_passage(' '.join(f'{chunk.context} | {chunk.text}'.split()))}"
        for number, chunk in enumerate(chunks, start=1)
    )
    request = ChatRequest(
        make_messages(TASK, language, material, prompts=prompts_of(model)),
        max_output_tokens=_OUTPUT_TOKENS * len(chunks),
        stage=STAGE,
    )
    try:
        read = complete_checked(model, request, _read_reply)
    except ModelError:
        return {}  # the chunks keep the rules' questions
    return {
        chunks[number - 1].id: tuple(questions[:MOST_QUESTIONS])
        for number, questions in read.items()
        if 1 <= number <= len(chunks)
    }


def questions_of(chunk: Chunk, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """Return the questions that the rules write for a chunk, in the order of its sentences.

    A sentence has at most two questions; the second ones follow all first ones, so that the
    questions cover the whole chunk.
    """
    language = prompt_language(chunk.text)
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
    return tuple(dict.fromkeys(found))[:MOST_QUESTIONS]


def _subject(chunk: Chunk, mentions: Sequence[Mention]) -> str:
    own = max(mentions, key=lambda m: (m.about, m.name), default=None)
    if own is not None and own.about >= _OWN:
        return own.name
    return chunk.document_title


def _answers(chunk: Chunk, sentence: Span, mentions: Sequence[Mention]) -> list[tuple[Span, str]]:
    """Return the spans in a sentence that can be an answer with their kinds, the last first.

    The end of a sentence mostly has the news about its subject.
    """
    parts: dict[Span, str] = {}
    for mention in mentions:
        for span in mention.spans:
            if sentence.contains(span):
                inside = Span(span.start - sentence.start, span.end - sentence.start)
                if mention.about < _OWN:
                    parts[inside] = _kind(mention.type)
    for match in _DATE.finditer(chunk.text_at(sentence)):
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
    """Return a sentence as a question for one of its parts; empty if too little is left of it."""
    rest = sentence[: part.start] + (" " if language == "en" else "") + sentence[part.end :]
    rest = " ".join(rest.split()).strip(_ENDS)
    pronoun = open_pronoun(rest)
    if pronoun and pronoun.lastgroup in _STANDING and subject:
        rest = subject + rest[pronoun.end() :]
    elif subject and subject.casefold() not in rest.casefold():
        rest = f"{subject}: {rest}" if language == "en" else f"{subject}，{rest}"
    if len(set(content_terms(rest))) < FEWEST_TERMS:
        return ""
    word = _WORDS[language][kind]
    return f"{word} {rest}?" if language == "en" else f"{rest}，{word}？"


def _read_reply(reply: ChatReply) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for line in restore(reply.text).splitlines():
        if (match := _NUMBERED.match(line)) and content_terms(match[2]):
            found.setdefault(int(match[1]), []).append(match[2].strip())
    if not found:
        raise Unparsable("The reply holds no numbered question.")
    return found
