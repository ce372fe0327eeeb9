"""Read the settings of extraction: what a model extracts, and what is kept of all extractions."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from knotwork._config import ExtractionSettings
from knotwork._extensions.model_indexing.extraction_examples import ExtractionExamples
from knotwork._extensions.model_indexing.extraction_prompts import own_version
from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema, SchemaFilter
from knotwork._inference.chat import ChatModel
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    # Both are imported on use: a run without a model needs neither.
    from knotwork._extensions.model_indexing.extraction_method import ExtractionMethod
    from knotwork._extensions.model_indexing.model_extractor import ModelExtractor


class ExtractionPlan:
    """The schema, the examples and the form of extraction; ``prompts`` are the user's own.

    Raises ConfigError if the schema cannot be read, or is strict and lists nothing.
    """

    def __init__(self, settings: ExtractionSettings, prompts: OwnPrompts = BUILT_IN) -> None:
        self.settings = settings
        self.prompts = prompts
        self.schema = _read_schema(settings)

    @cached_property
    def examples(self) -> ExtractionExamples:
        """The examples of the settings; raises as `ExtractionExamples.read`."""
        path = self.settings.examples
        return ExtractionExamples.read(Path(path), self.schema) if path else ExtractionExamples()

    @property
    def schema_filter(self) -> SchemaFilter | None:
        """What keeps only what the schema lists, if it is strict."""
        return SchemaFilter(self.schema) if self.settings.strict else None

    @property
    def shaping(self) -> tuple[str, ...]:
        """All that shapes what a model reads; a document is read again when it changes.

        The wording of built-in prompts does not count: a document that was paid for is not read
        again because of a new release. A change of the user's own prompts is the user's.
        """
        settings = self.settings
        shaping = [
            settings.form,
            settings.question,
            str(settings.gleanings),
            str(settings.check_relations),
            self.schema.fingerprint,
        ]
        if self.examples:
            shaping.append(self.examples.fingerprint)
        if version := own_version(self.prompts):
            shaping.append(version)
        return tuple(shaping)

    def method(self) -> ExtractionMethod:
        """Return how a model is asked about chunks. Raises UnknownName, ConfigError."""
        from knotwork._extensions.model_indexing.extraction_method import ExtractionMethod, Form

        settings, forms = self.settings, get_args(Form)
        form: Form | None = next((form for form in forms if form == settings.form), None)
        if form is None:
            raise UnknownName("form of extraction", settings.form, forms)
        return ExtractionMethod(
            form,
            self.schema,
            settings.question,
            self.examples,
            self.prompts,
            settings.gleanings,
            settings.check_relations,
        )

    def extractor(self, model: ChatModel, *, concurrency: int) -> ModelExtractor:
        """Return how a model reads chunks; raises as `method`."""
        from knotwork._extensions.model_indexing.model_extractor import ModelExtractor

        return ModelExtractor(
            model,
            self.method(),
            memory_tokens=self.settings.memory_tokens,
            concurrency=concurrency,
        )


def _read_schema(extraction: ExtractionSettings) -> ExtractionSchema:
    """Return the schema; raise ConfigError if it cannot be read, or is strict and lists nothing."""
    path = extraction.schema
    schema = ExtractionSchema.read(Path(path)) if path else ExtractionSchema()
    if not extraction.strict:
        return schema
    if not schema:
        where = f"`{path}` lists no types and relations" if path else "extraction.schema is not set"
        raise ConfigError(
            f"extraction.strict is true, but {where}.",
            fix="Set extraction.schema to a file that lists types (`knotwork schema propose` makes "
            "one), or extraction.strict to false.",
        )
    return replace(schema, strict=True)
