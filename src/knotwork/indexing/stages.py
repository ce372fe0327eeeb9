"""The stages of a run, composed from settings: splitter, extractor, embedder, model reader,
questions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from knotwork.config import ExtractionSettings, IndexSettings, Settings, fingerprint
from knotwork.errors import ConfigError, UnknownName
from knotwork.indexing.changes import Tier, Tiers
from knotwork.indexing.chunk_questions import QuestionWriter, questions_identity
from knotwork.indexing.document_reader import DocumentReader
from knotwork.indexing.embedding import Embedding
from knotwork.indexing.splitters import Splitter, make_splitter
from knotwork.inference.embedder import Embedder
from knotwork.inference.model_registry import NO_EMBEDDER
from knotwork.inference.role_models import ModelRun
from knotwork.records import content_id
from knotwork.transform.extractor import Extractor
from knotwork.transform.extractor_registry import make_extractor
from knotwork.transform.model.extraction_methods import LineMethod
from knotwork.transform.model.extraction_schema import ExtractionSchema
from knotwork.transform.model.model_extractor import ModelExtractor, Turns

QUESTION_WAYS = ("none", "rules", "model")

FORMS: dict[str, Literal["graph", "triplets"]] = {"graph": "graph", "triplets": "triplets"}


def compose_stages(
    settings: Settings,
    *,
    embedder: Embedder | None,
    models: ModelRun,
    tier: str | None = None,
) -> IndexingStages:
    """Return what a run applies to each document.

    ``tier`` is that of all documents; by default new ones have that of the settings, and those that
    a model read once stay read. Raises UnknownName for an unknown tier, and ConfigError for the
    full one without a model, for a schema that cannot be read, and for wrong settings of models.
    """
    index = settings.index
    splitter = make_splitter(
        index.splitter,
        chunk_tokens=index.chunk_tokens,
        overlap_tokens=index.overlap_tokens,
        parent_tokens=index.parent_tokens,
    )
    rules = _make_rules(index)
    embedding = Embedding(embedder, wanted=settings.embedding.model != NO_EMBEDDER)
    chosen = read_tier(tier or settings.llm.tier)
    wants_model = chosen is not Tier.NONE and models.has("extract")
    if chosen is Tier.FULL and not wants_model:
        raise ConfigError(
            'The tier "full" needs a language model, and none is set.',
            fix='Set llm.model (for example "openai:gpt-4o-mini"), or choose the tier "lean".',
        )
    questions = _make_question_writer(index.questions, models)
    tiers = Tiers(
        plain=_fingerprint(index, embedding.identity, rules),
        read=_reading_fingerprint(settings.extraction),
        has_model=wants_model,
        reads_new=chosen is Tier.FULL,
        keeps_read=tier is None,
    )
    reader = _make_reader(settings, models, rules, tiers) if wants_model else None
    return IndexingStages(splitter, rules, embedding, tiers, reader, chosen, questions)


def plain_fingerprints(settings: Settings, identities: Collection[str]) -> dict[str, str]:
    """Return the fingerprint of indexing with these settings, for each of several embedders.

    ``identities`` are those of `Embedding.identity`. See `Tiers.plain`.
    """
    rules = _make_rules(settings.index)
    return {identity: _fingerprint(settings.index, identity, rules) for identity in identities}


def _fingerprint(index: IndexSettings, identity: str, rules: Extractor) -> str:
    # Questions are named only where there are any, so that other indexes are as they were.
    asked = f" {questions_identity(index.questions)}" if index.questions != "none" else ""
    return fingerprint(index, identity, f"{rules.name}{asked}")


def _make_rules(index: IndexSettings) -> Extractor:
    return make_extractor(
        index.extractor,
        dictionary=Path(index.dictionary) if index.dictionary else None,
        recording=Path(index.recording) if index.recording else None,
    )


def read_tier(name: str) -> Tier:
    """Return the tier of this name. Raises UnknownName."""
    try:
        return Tier(name.strip().lower())
    except ValueError:
        raise UnknownName("tier", name, [tier.value for tier in Tier]) from None


def _make_question_writer(wanted: str, models: ModelRun) -> QuestionWriter | None:
    """Return what writes questions as `index.questions` says. Raises UnknownName, ConfigError."""
    if wanted not in QUESTION_WAYS:
        raise UnknownName("way to write questions", wanted, QUESTION_WAYS)
    if wanted == "none":
        return None
    if wanted == "rules":
        return QuestionWriter()
    model = models.open("summarize")
    if model is None:
        raise ConfigError(
            'index.questions is "model", and no language model is set.',
            fix='Set llm.model, or index.questions to "rules".',
        )
    return QuestionWriter(model)


def _make_reader(
    settings: Settings, models: ModelRun, rules: Extractor, tiers: Tiers
) -> DocumentReader:
    wanted = settings.extraction
    schema = _schema(wanted)
    if wanted.form not in FORMS:
        raise UnknownName("form of extraction", wanted.form, FORMS)
    model = models.open("extract")
    assert model is not None, "a model is set"
    extractor = ModelExtractor(
        model,
        method=LineMethod(FORMS[wanted.form], schema=schema, question=wanted.question),
        turns=Turns(wanted.gleanings, wanted.check_relations, schema),
        rules=rules,
        memory_tokens=wanted.memory_tokens,
        concurrency=settings.llm.concurrency,
        halt=models.halt,
    )
    return DocumentReader(extractor, tiers)


def _schema(wanted: ExtractionSettings) -> ExtractionSchema:
    return ExtractionSchema.read(Path(wanted.schema)) if wanted.schema else ExtractionSchema()


def _reading_fingerprint(wanted: ExtractionSettings) -> str:
    shaping = (wanted.form, wanted.question, wanted.gleanings, wanted.check_relations)
    return content_id(*map(str, shaping), _schema(wanted).fingerprint)


@dataclass(frozen=True, slots=True)
class IndexingStages:
    """What a run applies to each document; ``tiers`` holds the fingerprint of all of it."""

    splitter: Splitter
    extractor: Extractor
    embedding: Embedding
    tiers: Tiers
    reader: DocumentReader | None = None
    tier: Tier = Tier.NONE
    questions: QuestionWriter | None = None
