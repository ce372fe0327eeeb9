"""Store questions that chunks answer, to be searched like their text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from knotwork._indexing.embedding import Embedding
from knotwork._stores.base import FloatMatrix, Store, require_questions
from knotwork.records import Chunk, Extraction, content_id

WriteQuestions: TypeAlias = Callable[
    [Sequence[Chunk], Sequence[Extraction]], dict[str, tuple[str, ...]]
]
"""Returns the questions that chunks answer, by chunk id, given what was extracted from them."""

QUESTIONS = "question"
"""The name of the text index and the vector index of questions, by chunk id."""

TASK = "write-questions"
"""The name of the prompt by which a model writes them."""
MOST_QUESTIONS = 5
"""Questions of a chunk."""


def put_questions(
    store: Store, questions: Mapping[str, Sequence[str]], embedding: Embedding
) -> None:
    """Store the questions of chunks, with vectors if there is an embedder.

    Call this in a transaction of the store. Raises MissingCapability if it cannot hold questions.
    """
    require_questions(store).put(questions)
    store.texts(QUESTIONS).add((key, "\n".join(asked)) for key, asked in questions.items())
    if embedding:
        store.vectors(QUESTIONS).put(embed_questions(questions, embedding))


def embed_questions(
    questions: Mapping[str, Sequence[str]], embedding: Embedding
) -> list[tuple[str, str, FloatMatrix]]:
    """Return (chunk id, content key, a row per question), for languages the embedder reads."""
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
