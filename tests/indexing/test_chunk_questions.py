"""Questions that chunks answer: what rules ask, what a model asks, and what becomes of them."""

import pytest

from knotwork._companions import IN_MEMORY_COMPANIONS
from knotwork._config import IndexSettings, LlmSettings, Settings
from knotwork._extensions.model_indexing.question_writer import QuestionWriter, questions_of
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.changes import Tiers
from knotwork._indexing.chunk_questions import MOST_QUESTIONS
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import document_source
from knotwork._indexing.run import IndexingRun
from knotwork._indexing.splitters import make_splitter
from knotwork._indexing.stages import IndexingStages, compose_stages
from knotwork._inference.role_models import ModelRun
from knotwork._stores.urls import open_store
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork._transform.extractor import make_extractor
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Document

FILM = Document(
    uri="film.txt",
    title="Silver Lantern",
    text="Silver Lantern is a 1954 film directed by Marta Ilves. It was shot in Tartu in 1953.",
)
RIVER = Document(uri="river.txt", title="长江", text="长江发源于青藏高原，流入东海。")


def index(store, writer, documents, *, embedder=None):
    stages = IndexingStages(
        make_splitter("whole"),
        make_extractor(),
        Embedding(embedder),
        Tiers("test"),
        questions=writer,
    )
    IndexingRun(store, stages).update(
        [document_source(d) for d in documents], covers=lambda _: True
    )
    return store


def asked_about(document):
    _, chunks = make_splitter("whole").split(document)
    (extraction,) = make_extractor().extract(document, chunks)
    return questions_of(chunks[0], extraction.mentions)


def test_a_sentence_is_asked_about_what_it_says():
    questions = asked_about(FILM)
    assert 2 <= len(questions) <= MOST_QUESTIONS
    by_director = [q for q in questions if "Marta Ilves" not in q]
    assert any({"silver", "lantern", "direct"} <= set(content_terms(q)) for q in by_director)
    assert any(q.startswith("When") and "1954" not in q for q in questions)


def test_a_pronoun_gives_way_to_what_the_chunk_is_about():
    assert any("shot" in q and "Silver Lantern" in q for q in asked_about(FILM))


def test_chinese_sentences_are_asked_in_chinese():
    questions = asked_about(RIVER)
    assert any("东海" not in question and "发源于青藏高原" in question for question in questions)
    assert all(question.endswith("？") for question in questions)


def test_questions_come_and_go_with_their_document():
    store = open_store("memory:", create=True)
    index(store, QuestionWriter(), [FILM, RIVER], embedder=HashingEmbedder())
    assert store.texts("question").count() == 2
    assert store.vectors("question").count() == 2
    (chunk_id,) = store.documents.chunk_ids_of([FILM.id])[FILM.id]
    assert len(store.vectors("question").get([chunk_id])[chunk_id]) == len(asked_about(FILM))
    index(store, QuestionWriter(), [RIVER], embedder=HashingEmbedder())
    assert store.texts("question").count() == 1
    assert store.vectors("question").get([chunk_id]) == {}


def test_without_a_writer_there_are_none():
    store = index(open_store("memory:", create=True), None, [FILM])
    assert store.texts("question").count() == 0


def test_a_model_asks_in_place_of_the_rules():
    model = ScriptedChatModel(["1 | Who directed the film Silver Lantern?\n1 | Where was it shot?"])
    store = index(open_store("memory:", create=True), QuestionWriter(model), [FILM])
    (chunk_id,) = store.documents.chunk_ids_of([FILM.id])[FILM.id]
    counts = store.texts("question").occurrences([chunk_id], ["direct", "1954"])
    assert counts.tolist() == [[1, 0]]
    assert "Silver Lantern is a 1954 film" in model.requests[0].messages[-1].content


def test_the_rules_stand_in_for_a_model_that_says_nothing_of_use():
    model = ScriptedChatModel(["I cannot help with that."])
    store = index(open_store("memory:", create=True), QuestionWriter(model), [FILM])
    (chunk_id,) = store.documents.chunk_ids_of([FILM.id])[FILM.id]
    assert store.texts("question").occurrences([chunk_id], ["direct"]).tolist() == [[2]]


def test_the_setting_decides_and_only_then_marks_the_index():
    def stages(questions):
        settings = Settings(index=IndexSettings(questions=questions))
        models = ModelRun(LlmSettings(), companions=IN_MEMORY_COMPANIONS, count_tokens=count_tokens)
        return compose_stages(settings, embedder=None, models=models)

    assert stages("none").questions is None
    assert stages("rules").questions is not None
    assert stages("none").tiers.plain != stages("rules").tiers.plain
    with pytest.raises(ConfigError, match=r"llm\.model"):
        stages("model")
    with pytest.raises(UnknownName, match="rules"):
        stages("templates")
