"""Compose the stages of a run from settings: splitter, extractors, embedder, question writer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from knotwork._config import ExtractionSettings, IndexSettings, Settings, fingerprint
from knotwork._indexing.changes import Tier, Tiers
from knotwork._indexing.chunk_questions import QuestionWriter, questions_identity
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.preparation import Recipe
from knotwork._indexing.splitters import Splitter, make_splitter
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import NO_EMBEDDER, calls_at_once
from knotwork._inference.role_models import ModelRun
from knotwork._transform.extractor import Extractor
from knotwork._transform.extractor_registry import make_extractor
from knotwork._transform.model.extraction_methods import LineMethod
from knotwork._transform.model.extraction_schema import ExtractionSchema
from knotwork._transform.model.model_extractor import ModelExtractor, Turns
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import content_id

QUESTION_WAYS = ("none", "rules", "model")

FORMS: dict[str, Literal["graph", "triplets"]] = {"graph": "graph", "triplets": "triplets"}


@dataclass(frozen=True, slots=True)
class IndexingStages:
    """What a run applies to each document; ``tiers`` holds the fingerprint of all of it.

    ``model_extractor`` reads the documents that should be read by a model, if there is one.
    """

    splitter: Splitter
    extractor: Extractor
    embedding: Embedding
    tiers: Tiers
    model_extractor: ModelExtractor | None = None
    tier: Tier = Tier.NONE
    questions: QuestionWriter | None = None

    @property
    def recipe(self) -> Recipe:
        """The stages that know no store and no model."""
        memory_tokens = self.model_extractor.memory_tokens if self.model_extractor else 0
        return Recipe(self.splitter, self.extractor, memory_tokens)


def compose_stages(
    settings: Settings,
    *,
    embedder: Embedder | None,
    models: ModelRun,
    tier: str | None = None,
    splitter: Splitter | None = None,
    extractor: Extractor | None = None,
) -> IndexingStages:
    """Return the stages that settings ask for; a ``splitter`` and ``extractor`` replace theirs.

    ``tier`` is that of all documents; by default, new ones have that of the settings, and those
    that a model read once stay so. Raises UnknownName for an unknown tier, and ConfigError for the
    tier "full" without a model, an unreadable schema, and invalid settings of models.
    """
    index, extraction = settings.index, settings.extraction
    splitter, rules = splitter or _make_splitter(index), _make_extractor(index, extractor)
    embedding = Embedding(embedder, wanted=settings.embedding.model != NO_EMBEDDER)
    chosen = read_tier(tier or settings.llm.tier)
    wants_model = chosen is not Tier.NONE and models.has("extract")
    if chosen is Tier.FULL and not wants_model:
        raise ConfigError(
            'The tier "full" needs a language model, and none is set.',
            fix='Set llm.model (for example "openai:gpt-4o-mini"), or choose the tier "lean".',
        )
    questions = _make_question_writer(index.questions, models)
    path = extraction.schema
    schema = ExtractionSchema.read(Path(path)) if path else ExtractionSchema()
    shaping = (
        extraction.form,
        extraction.question,
        extraction.gleanings,
        extraction.check_relations,
    )
    tiers = Tiers(
        plain=_fingerprint(index, embedding.identity, splitter, rules),
        read=content_id(*map(str, shaping), schema.fingerprint),
        has_model=wants_model,
        reads_new=chosen is Tier.FULL,
        keeps_read=tier is None,
    )
    model_extractor = (
        _make_model_extractor(
            extraction, schema, models, rules, concurrency=calls_at_once(settings.llm, "extract")
        )
        if wants_model
        else None
    )
    return IndexingStages(splitter, rules, embedding, tiers, model_extractor, chosen, questions)


def plain_fingerprints(
    settings: Settings,
    identities: Collection[str],
    *,
    splitter: Splitter | None = None,
    extractor: Extractor | None = None,
) -> dict[str, str]:
    """Return `Tiers.plain` for each of several `Embedding.identity`, as `compose_stages` has it."""
    index = settings.index
    splitter, rules = splitter or _make_splitter(index), _make_extractor(index, extractor)
    return {identity: _fingerprint(index, identity, splitter, rules) for identity in identities}


def read_tier(name: str) -> Tier:
    """Return the tier of this name. Raises UnknownName."""
    try:
        return Tier(name.strip().lower())
    except ValueError:
        raise UnknownName("tier", name, [tier.value for tier in Tier]) from None


def _fingerprint(index: IndexSettings, identity: str, splitter: Splitter, rules: Extractor) -> str:
    # Questions are named only if they are written, so that older indexes stay current.
    asked = f" {questions_identity(index.questions)}" if index.questions != "none" else ""
    # The name of a splitter that is given as an object, or of a plugin's, stands for its settings.
    index = replace(index, splitter=splitter.name)
    return fingerprint(index, identity, f"{rules.name}{asked}")


def _make_splitter(index: IndexSettings) -> Splitter:
    return make_splitter(
        index.splitter,
        chunk_tokens=index.chunk_tokens,
        overlap_tokens=index.overlap_tokens,
        parent_tokens=index.parent_tokens,
    )


def _make_extractor(index: IndexSettings, given: Extractor | None) -> Extractor:
    return make_extractor(
        given or index.extractor,
        dictionary=Path(index.dictionary) if index.dictionary else None,
        recording=Path(index.recording) if index.recording else None,
    )


def _make_question_writer(wanted: str, models: ModelRun) -> QuestionWriter | None:
    """Return the question writer that `index.questions` names. Raises UnknownName, ConfigError."""
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


def _make_model_extractor(
    wanted: ExtractionSettings,
    schema: ExtractionSchema,
    models: ModelRun,
    rules: Extractor,
    *,
    concurrency: int,
) -> ModelExtractor:
    if wanted.form not in FORMS:
        raise UnknownName("form of extraction", wanted.form, FORMS)
    model = models.open("extract")
    assert model is not None, "a model is set"
    return ModelExtractor(
        model,
        method=LineMethod(FORMS[wanted.form], schema=schema, question=wanted.question),
        turns=Turns(wanted.gleanings, wanted.check_relations, schema),
        rules=rules,
        memory_tokens=wanted.memory_tokens,
        concurrency=concurrency,
        halt=models.halt,
    )
