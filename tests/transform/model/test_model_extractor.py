import threading

import pytest
from tests.transform.documents import cut, mentions

from knotwork._config import LlmSettings
from knotwork._extensions.model_indexing.chunk_memory import MEMORY_TOKENS, recall_similar
from knotwork._extensions.model_indexing.extraction_method import ExtractionMethod
from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema
from knotwork._extensions.model_indexing.model_extractor import (
    ChunkJob,
    ChunkOutcome,
    ModelExtractor,
)
from knotwork._extensions.testing.brains.rule_brain import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference.call_limits import RetryPolicy, work_ordered
from knotwork._inference.model_registry import ChatModels
from knotwork._text.token_counts import count_tokens
from knotwork._transform.rules import RuleExtractor
from knotwork.records import Chunk, Document, ReadingStatus
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


PARTS = tuple(
    f"Ada Smith founded Acme {place} in {year}. Later Bob Jones led Acme {place} from Vienna."
    for year, place in enumerate(["London", "Paris", "Rome", "Oslo", "Bern", "Riga"], start=1900)
)


def brained() -> ScriptedChatModel:
    brain = RuleBrain()
    return ScriptedChatModel(lambda request: brain(request.messages))


def read(extractor: ModelExtractor, document: Document, chunks: list[Chunk]) -> list[ChunkOutcome]:
    found = RuleExtractor().extract(document, chunks)
    memories = recall_similar(chunks, found, limit_tokens=extractor.memory_tokens)
    jobs = [
        ChunkJob(document, chunk, base, memories.get(chunk.id, ""))
        for chunk, base in zip(chunks, found, strict=True)
    ]
    return list(work_ordered(extractor.extract_chunk, jobs, concurrency=extractor.concurrency))


def extractions_of(extractor: ModelExtractor, document: Document, chunks: list[Chunk]):
    return [outcome.extraction for outcome in read(extractor, document, chunks)]


def document_of(count: int) -> tuple[Document, list[Chunk]]:
    return cut("Firms", *(f"{PARTS[i % len(PARTS)]} Case {i}." for i in range(count)))


def test_it_makes_one_call_a_chunk_and_keeps_what_the_rules_found() -> None:
    model = brained()
    document, chunks = cut("Firms", *PARTS)
    found = extractions_of(ModelExtractor(model), document, chunks)
    assert [extraction.chunk_id for extraction in found] == [chunk.id for chunk in chunks]
    assert len(model.requests) == len(chunks)
    for extraction, base in zip(found, RuleExtractor().extract(document, chunks), strict=True):
        assert set(mentions(extraction)) >= set(mentions(base))
        assert any(relation.description for relation in extraction.relations)


def test_threads_do_not_change_the_result() -> None:
    document, chunks = cut("Firms", *PARTS)
    alone = extractions_of(ModelExtractor(brained(), concurrency=1), document, chunks)
    assert alone == extractions_of(ModelExtractor(brained()), document, chunks)


def test_memory_appears_only_in_the_prompt_of_its_chunk() -> None:
    model = brained()
    extractor = ModelExtractor(model, concurrency=1)
    document, chunks = cut("Firms", *PARTS[:2])
    read(extractor, document, chunks)
    first, second = (request.messages[0].content for request in model.requests)
    assert "<memory>" not in first
    assert "Acme London" in second.partition("<memory>")[2].partition("</memory>")[0]
    read(ModelExtractor(model, memory_tokens=0, concurrency=1), document, chunks)
    assert not any("<memory>" in request.messages[0].content for request in model.requests[2:])


def test_memory_recalls_earlier_chunks_of_the_same_words_and_none_of_others() -> None:
    texts = ["Ada Smith grows roses in Kent.", "Bob Jones sails boats near Oslo."]
    document, chunks = cut(
        "Lives", *texts, "Roses in Kent please Carol White.", "它讲的是别的事情。"
    )
    found = RuleExtractor().extract(document, chunks)
    memories = recall_similar(chunks, found)
    assert memories.keys() == {chunks[2].id}
    assert "Ada Smith" in memories[chunks[2].id]
    assert "Bob Jones" not in memories[chunks[2].id]


def test_memory_of_a_long_document_stays_as_at_its_beginning() -> None:
    document, chunks = document_of(300)
    found = RuleExtractor().extract(document, chunks)
    memories = recall_similar(chunks, found)
    first = recall_similar(chunks[:280], found[:280])
    assert len(memories) == 299
    assert all(count_tokens(memory) <= MEMORY_TOKENS for memory in memories.values())
    assert first.keys() == {chunk.id for chunk in chunks[1:280]}


def test_memory_is_bounded_and_says_nothing_twice() -> None:
    document, chunks = document_of(30)
    extractions = extractions_of(ModelExtractor(brained()), document, chunks)
    memories = recall_similar(chunks, extractions)
    for memory in memories.values():
        assert 0 < count_tokens(memory) <= MEMORY_TOKENS
        assert len(set(memory.splitlines())) == len(memory.splitlines())
    short = recall_similar(chunks, extractions, limit_tokens=20)
    assert short
    assert all(count_tokens(memory) <= 20 for memory in short.values())
    assert recall_similar([], []) == {}


def test_the_schema_of_a_method_holds_for_all_turns() -> None:
    schema = ExtractionSchema(entity_types=("FIRM",))
    script = ["entity | Acme London | firm | x", "entity | Vienna | PLACE | y", "none"]
    extractor = ModelExtractor(
        ScriptedChatModel(script), method=ExtractionMethod(schema=schema, gleanings=2)
    )
    document, chunks = cut("", PARTS[0])
    (outcome,) = read(extractor, document, chunks)
    assert mentions(outcome.extraction)["acme london"].type == "FIRM"
    assert [c.reason for c in outcome.complaints] == ["type `PLACE` is not in the schema"]


def test_a_quarantined_chunk_has_a_reason_and_what_rules_found() -> None:
    document, chunks = cut("", PARTS[0])
    (outcome,) = read(ModelExtractor(ScriptedChatModel("No.")), document, chunks)
    assert [outcome.extraction] == RuleExtractor().extract(document, chunks)
    assert outcome.status is ReadingStatus.QUARANTINED
    assert "No line of it is a record" in outcome.reason


def test_over_a_failing_server_every_chunk_ends_indexed_or_quarantined() -> None:
    rates = {Fault.RATE_LIMITED: 0.1, Fault.SERVER_ERROR: 0.1, Fault.GARBAGE: 0.1}
    document, chunks = document_of(60)
    retries = RetryPolicy(sleep=lambda _: None)
    with ModelTestServer(faults=FaultPlan(rates=rates, seed=3)) as server:
        models = ChatModels(
            LlmSettings(model="openai:knotwork-test", base_url=server.url), retries=retries
        )
        model = models.open("extract")
        assert model is not None
        extractor = ModelExtractor(model, concurrency=8)
        outcomes = read(extractor, document, chunks)
    assert [outcome.chunk_id for outcome in outcomes] == [chunk.id for chunk in chunks]
    by_status = {status: [o for o in outcomes if o.status is status] for status in ReadingStatus}
    assert sum(map(len, by_status.values())) == 60
    assert len(by_status[ReadingStatus.OK]) + len(by_status[ReadingStatus.PARTIAL]) >= 50
    assert any(outcome.repaired for outcome in outcomes)
    assert all(outcome.reason and outcome.raw for outcome in by_status[ReadingStatus.QUARANTINED])
    assert all(outcome.extraction.mentions for outcome in outcomes)
    assert threading.active_count() < 40
