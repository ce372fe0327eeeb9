"""Compose what a run applies to each document from settings, and the engine that does it.

An `Engine` does the work that depends on one document alone: loading, splitting, rules and
embedding. It changes no result: every engine returns the documents in the order in which they were
offered, and vectors of the same model. It may also store them, if the store has several writers.
The run stays in the process that started it, with the ledger, the language model and its budget.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._config import ExtractionSettings, IndexSettings, Settings, fingerprint
from knotwork._indexing.changes import Tier, Tiers, has_read, is_read_whole
from knotwork._indexing.chunk_questions import MOST_QUESTIONS, WriteQuestions
from knotwork._indexing.chunk_questions import TASK as QUESTIONS_TASK
from knotwork._indexing.commit import Writer
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import (
    BLINDNESS_FIX,
    PICTURES_TASK,
    Prepared,
    Preparer,
    Recipe,
    SourceFile,
)
from knotwork._indexing.splitters import Splitter, make_splitter
from knotwork._indexing.workers import ReadingLimits
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import NO_EMBEDDER, calls_at_once
from knotwork._inference.own_prompts import OwnPrompts, read_prompt_folder
from knotwork._inference.role_models import ModelRun
from knotwork._registry import PARTS
from knotwork._stores.base import Store
from knotwork._transform.extractor import Extractor, make_extractor
from knotwork._transform.no_extractor import NoExtractor
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import content_id

if TYPE_CHECKING:
    from knotwork._extensions.media.picture_describer import PictureDescriber
    from knotwork._extensions.model_indexing.extraction_plan import ExtractionPlan
    from knotwork._extensions.model_indexing.extraction_schema import SchemaFilter
    from knotwork._extensions.model_indexing.model_extractor import ModelExtractor

QUESTION_WAYS = ("none", "rules", "model")

PICTURE_WAYS = ("text", "model")
UNDESCRIBED_DETAIL = (
    'pictures are described only in documents that a model reads, and the tier is "{tier}"'
)
UNDESCRIBED_FIX = 'Set llm.tier to "full" (or add --tier full), or index.pictures to "text".'
UNDESCRIBED_NOTE = f'index.pictures is "model", but {UNDESCRIBED_DETAIL}. {UNDESCRIBED_FIX}'

PROCESSES = "processes"
RAY = "ray"
ENGINES = (PROCESSES, RAY, "ray://HOST:PORT", "ray:ADDRESS")


@dataclass(slots=True)
class Engine:
    """Prepares and embeds the documents of a run; close it after the run.

    This one reads files in ``workers`` processes within ``limits`` (`Preparer`), and embeds in the
    process of the run. Another one (`knotwork._extensions.ray`) overrides what it does elsewhere.
    """

    workers: int = 0
    limits: ReadingLimits = field(default_factory=ReadingLimits)

    def open_preparer(self, recipe: Recipe, *, total_bytes: int) -> Preparer:
        """Return a preparer for documents of ``total_bytes`` in all; close it after use."""
        return Preparer(recipe, workers=self.workers, total_bytes=total_bytes, limits=self.limits)

    def open_embedder(self, embedder: Embedder) -> Embedder:
        """Return an embedder with the same name and vectors that computes where the engine does.

        It may be ``embedder`` itself. Cheap, as any construction of an embedder; the result is
        valid until the engine is closed.
        """
        return embedder

    def open_writer(self, store: Store, embedding: Embedding, tiers: Tiers) -> Writer:
        """Return what stores the documents of a run; close it after the run."""
        return Writer(store, embedding, tiers)

    def close(self) -> None:
        """End all work, and release what the engine has started."""


def open_engine(settings: Settings) -> Engine:
    """Return the engine that `index.compute` names; what it needs is started on first use.

    Raises UnknownName for an unknown one, MissingExtra if its library is not installed, and
    ConfigError if other settings contradict it.
    """
    index = settings.index
    if index.compute == PROCESSES:
        return Engine(index.workers, ReadingLimits.of(index))
    scheme, _, address = index.compute.partition(":")
    if index.compute == RAY or (scheme == RAY and address.strip("/")):
        return PARTS.load(RAY)(index, settings.embedding)  # type: ignore[no-any-return]
    raise UnknownName("value of index.compute", index.compute, ENGINES)


@dataclass(frozen=True, slots=True)
class IndexingStages:
    """What a run applies to each document; ``tiers`` holds the fingerprint of all of it.

    ``model_extractor`` reads the documents that should be read by a model, if there is one.
    ``describer`` describes the pictures of these documents, if `index.pictures` says so.
    ``joins_full``: the tier is "full" since a model read all that was indexed before.
    ``notes`` are for the user, about settings without effect.
    ``schema_filter`` applies to all that is extracted, if the schema is strict for it.
    """

    splitter: Splitter
    extractor: Extractor
    embedding: Embedding
    tiers: Tiers
    model_extractor: ModelExtractor | None = None
    tier: Tier = Tier.NONE
    questions: WriteQuestions | None = None
    schema_filter: SchemaFilter | None = None
    describer: PictureDescriber | None = None
    joins_full: bool = False
    notes: tuple[str, ...] = ()

    def as_begun(self, source: SourceFile) -> SourceFile:
        """Return a source as it is first prepared: with its pictures to be described, or not."""
        read = source.read_undescribed
        if self.describer is None or read is None or not source.wants_model:
            return source
        return replace(source, read=read)

    @property
    def recipe(self) -> Recipe:
        """The stages that know no store and no model."""
        recall = self.model_extractor.recall if self.model_extractor else None
        return Recipe(self.splitter, self.extractor, recall)

    def admit(self, prepared: Prepared) -> Prepared:
        """Return a document with only what a strict schema lists, and counts of the rest."""
        if self.schema_filter is None:
            return prepared
        return self.schema_filter.admit(prepared)


def compose_stages(
    settings: Settings,
    *,
    embedder: Embedder | None,
    models: ModelRun,
    tier: str | None = None,
    indexed: Mapping[str, int] | None = None,
    splitter: Splitter | None = None,
    extractor: Extractor | None = None,
) -> IndexingStages:
    """Return the stages that settings ask for; a ``splitter`` and ``extractor`` replace theirs.

    ``tier`` is that of all documents; by default, new ones have that of the settings, or "full" if
    a model read the whole index so far, and those that a model read once stay so. ``indexed`` are
    the `Ledger.settings_counts` of the index. Raises UnknownName for an unknown tier, and
    ConfigError for the tier "full" without a model, an unreadable schema, and invalid settings of
    models.
    """
    index, extraction = settings.index, settings.extraction
    splitter, rules = splitter or _make_splitter(index), _make_extractor(settings, extractor)
    embedding = Embedding(embedder, wanted=settings.embedding.model != NO_EMBEDDER)
    chosen = read_tier(tier or settings.llm.tier)
    joins_full = (
        tier is None
        and chosen is Tier.LEAN
        and models.has("extract")
        and is_read_whole(indexed or {})
    )
    if joins_full:
        chosen = Tier.FULL
    wants_model = chosen is not Tier.NONE and models.has("extract")
    if chosen is Tier.FULL and not wants_model:
        raise ConfigError(
            'The tier "full" needs a language model, and none is set.',
            fix='Set llm.model (for example "openai:gpt-4o-mini"), or choose the tier "lean".',
        )
    if isinstance(rules, NoExtractor) and extractor is None and chosen is not Tier.FULL:
        raise ConfigError(
            f'extraction.rules is false, and llm.tier is "{chosen}", so that nothing would extract '
            "entities and relations.",
            fix='Set llm.tier to "full" (or add --tier full), or extraction.rules to true.',
        )
    if isinstance(rules, NoExtractor) and extraction.strict and extraction.form == "triplets":
        raise ConfigError(
            'extraction.form is "triplets", which gives entities no type, and extraction.rules is '
            "false, so that a strict schema would leave out all of them.",
            fix='Set extraction.form to "graph", or extraction.strict to false.',
        )
    questions = _make_question_writer(index.questions, models)
    # Whoever asks nothing of a model and has no document that one read needs no plan.
    is_planned = (
        wants_model
        or extraction.strict
        or extraction.schema
        or extraction.examples
        or has_read(indexed or {})
    )
    plan = _plan_extraction(extraction, models.prompts) if is_planned else None
    shaping = plan.shaping if plan else ()
    wants_descriptions = _describes_pictures(index.pictures, models)
    describes = wants_descriptions and wants_model
    if describes:
        shaping = (*shaping, f"pictures {models.prompts.version_of({PICTURES_TASK})}")
    tiers = Tiers(
        plain=_fingerprint(settings, models.prompts, plan, embedding.identity, splitter, rules),
        read=content_id(*shaping) if plan else "",
        has_model=wants_model,
        reads_new=chosen is Tier.FULL,
        keeps_read=tier is None,
    )
    model_extractor = describer = None
    if describes:
        seeing = models.open("describe")
        assert seeing is not None, "a model is set"
        calls = calls_at_once(settings.llm, "describe")
        describer = PARTS.load("picture_describer")(seeing, concurrency=calls)
    if wants_model:
        reading = models.open("extract")
        assert reading is not None, "a model is set"
        calls = calls_at_once(settings.llm, "extract")
        assert plan is not None, "a model is wanted"
        model_extractor = plan.extractor(reading, concurrency=calls)
    return IndexingStages(
        splitter,
        rules,
        embedding,
        tiers,
        model_extractor,
        chosen,
        questions,
        plan.schema_filter if plan else None,
        describer,
        joins_full=joins_full,
        notes=(UNDESCRIBED_NOTE.format(tier=chosen),)
        if wants_descriptions and chosen is not Tier.FULL
        else (),
    )


def plain_fingerprints(
    settings: Settings,
    identities: Collection[str],
    *,
    splitter: Splitter | None = None,
    extractor: Extractor | None = None,
) -> dict[str, str]:
    """Return `Tiers.plain` for each of several `Embedding.identity`, as `compose_stages` has it."""
    splitter = splitter or _make_splitter(settings.index)
    rules = _make_extractor(settings, extractor)
    prompts = read_prompt_folder(settings.prompts.dir)
    plan = _plan_extraction(settings.extraction, prompts) if settings.extraction.strict else None
    return {
        identity: _fingerprint(settings, prompts, plan, identity, splitter, rules)
        for identity in identities
    }


def read_tier(name: str) -> Tier:
    """Return the tier of this name. Raises UnknownName."""
    try:
        return Tier(name.strip().lower())
    except ValueError:
        raise UnknownName("tier", name, [tier.value for tier in Tier]) from None


DOCUMENT_FORM = "blocks-1"
"""The form in which loaders write documents; files that were read in another one are read again."""


def _fingerprint(
    settings: Settings,
    prompts: OwnPrompts,
    plan: ExtractionPlan | None,
    identity: str,
    splitter: Splitter,
    rules: Extractor,
) -> str:
    index = settings.index
    used = f"{DOCUMENT_FORM} {rules.name}"
    if index.questions != "none":
        used += f" questions {index.questions} {MOST_QUESTIONS}"
    if index.questions == "model" and (version := prompts.version_of({QUESTIONS_TASK})):
        used += f" {version}"
    if plan is not None and settings.extraction.strict:
        used += f" strict-{plan.schema.fingerprint}"
    # The name of a splitter that is given as an object, or of a plugin's, stands for its settings.
    index = replace(index, splitter=splitter.name)
    return fingerprint(index, identity, used)


def _plan_extraction(extraction: ExtractionSettings, prompts: OwnPrompts) -> ExtractionPlan:
    plan: ExtractionPlan = PARTS.load("extraction_plan")(extraction, prompts)
    return plan


def _make_splitter(index: IndexSettings) -> Splitter:
    return make_splitter(
        index.splitter,
        chunk_tokens=index.chunk_tokens,
        overlap_tokens=index.overlap_tokens,
        parent_tokens=index.parent_tokens,
    )


def _make_extractor(settings: Settings, given: Extractor | None) -> Extractor:
    """Return the extractor that needs no model; raises as `make_extractor`."""
    index = settings.index
    if not settings.extraction.rules and given is None and index.extractor == "rules":
        if index.dictionary:
            raise ConfigError(
                f"extraction.rules is false, but index.dictionary is {index.dictionary}, which is "
                "for the rules.",
                fix="Remove index.dictionary, or set extraction.rules to true.",
            )
        given = NoExtractor()
    return make_extractor(
        given or index.extractor,
        dictionary=Path(index.dictionary) if index.dictionary else None,
        recording=Path(index.recording) if index.recording else None,
    )


def _make_question_writer(wanted: str, models: ModelRun) -> WriteQuestions | None:
    """Return the question writer that `index.questions` names. Raises UnknownName, ConfigError."""
    if wanted not in QUESTION_WAYS:
        raise UnknownName("way to write questions", wanted, QUESTION_WAYS)
    if wanted == "none":
        return None
    model = models.open("summarize") if wanted == "model" else None
    if model is None and wanted == "model":
        raise ConfigError(
            'index.questions is "model", and no language model is set.',
            fix='Set llm.model, or index.questions to "rules".',
        )
    writer: WriteQuestions = PARTS.load("question_writer")(model)
    return writer


def _describes_pictures(wanted: str, models: ModelRun) -> bool:
    """Return True if `index.pictures` asks for a model. Raises UnknownName, ConfigError."""
    if wanted not in PICTURE_WAYS:
        raise UnknownName("way to read pictures", wanted, PICTURE_WAYS)
    if wanted == "model" and not models.has("describe"):
        raise ConfigError(
            'index.pictures is "model", and no language model is set.',
            fix=BLINDNESS_FIX,
        )
    return wanted == "model"
