"""Evidence of known passages, and answers of a scripted model from it."""

from __future__ import annotations

from knotwork._config import AnswerSettings
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._run import Stage
from knotwork._stores.urls import open_store
from knotwork._synthesis.answer_writer import AnswerWriter
from knotwork._text.sentences import split_sentences
from knotwork.records import Chunk, Document, Evidence, Hit, Query, Span, content_id

TEXTS = {
    "Travel": "Trips abroad are approved by the Travel Office. Ask 14 days ahead. "
    "It is led by Ada Lovelace.",
    "Team": "Ada Lovelace was born in London. She likes tea.",
    "差旅": "海外出差由办事处主任审批。主任是温青岚。",
}
QUESTION = "Who approves trips abroad?"


def chunk_of(document: Document, *, headings: tuple[str, ...] = ()) -> Chunk:
    spans = tuple(split_sentences(document.text))
    return Chunk(
        content_id("chunk", document.uri),
        document.id,
        content_id("section", document.uri),
        0,
        Span(0, len(document.text)),
        document.text,
        spans,
        document.title,
        headings,
    )


def make_evidence(question=QUESTION, *, texts=TEXTS, confidence=0.9):
    """Return evidence with one hit for each text, best first, and its store."""
    store = open_store("memory:", create=True)
    hits = []
    for rank, (title, text) in enumerate(texts.items()):
        document = Document(uri=f"{title}.txt", title=title, text=text)
        chunk = chunk_of(document)
        store.documents.put(document, [], [chunk])
        sentences = tuple((span, 0.9 - 0.1 * i) for i, span in enumerate(chunk.sentences[:3]))
        hits.append(Hit(chunk, 1.0 / (rank + 1), sentences=sentences))
    return Evidence(Query(question), "auto", tuple(hits), confidence), store


def write(script, question=QUESTION, *, cache=None, evidence=None, settings=None, **options):
    """Return the answer, the events before it, and the model."""
    found, store = evidence or make_evidence(question)
    model = script if isinstance(script, ScriptedChatModel) else ScriptedChatModel(script)
    cached = CachedChatModel(model, cache or CallCache(":memory:"))
    writer = AnswerWriter(cached, store=store, settings=settings or AnswerSettings(), **options)
    *events, last = writer.write(found)
    assert last.stage is Stage.FINISHED
    return last.value, events, model


def shown_text(events):
    """Return the text of the answer that was shown in pieces."""
    text = ""
    for event in events:
        if event.stage is Stage.WITHDRAWN:
            text = ""
        elif event.stage is Stage.TEXT:
            text += event.note
    return text
