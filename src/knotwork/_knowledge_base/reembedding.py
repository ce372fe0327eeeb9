"""Choose the embedder with which an index is embedded again, and run the embedding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from knotwork._config import Settings
from knotwork._indexing.embedding import REEMBED_COMMAND, Embedding
from knotwork._indexing.engines.engine import open_engine
from knotwork._indexing.reembedding import EmbedReport, Reembedding, identities
from knotwork._indexing.stages import plain_fingerprints
from knotwork._inference.embedder import Embedder, without_prefixes
from knotwork._inference.model_registry import choose_model, open_embedder
from knotwork._run import Steps
from knotwork.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from knotwork._indexing.splitters import Splitter
    from knotwork._stores.base import Store
    from knotwork._transform.extractor import Extractor


SETTINGS_NOTE = (
    "The settings name `{wanted}`. To search with the new vectors, set: "
    'embedding.model = "{embedder}"'
)


def resolve_embedder(
    model: str | Embedder, settings: Settings, *, given: Embedder | None = None
) -> Embedder:
    """Return the embedder that ``model`` names, by default ``given`` or that of the settings.

    "auto" is the model of a new index. Raises ConfigError for "none", UnknownName for an unknown
    model, MissingExtra without its library.
    """
    if not isinstance(model, str):
        return model
    if not model and given is not None:
        return given
    spec = model or settings.embedding.model
    embedder = open_embedder(spec, settings.embedding)
    if embedder is None:
        raise ConfigError(
            "No embedding model is set.",
            fix=f"Choose one: {REEMBED_COMMAND} --model {choose_model()}",
        )
    return embedder


def reembed(
    store: Store,
    settings: Settings,
    embedder: Embedder,
    *,
    splitter: Splitter | None = None,
    extractor: Extractor | None = None,
) -> Steps[EmbedReport]:
    """Embed an index again, and return the report of `Reembedding.run`.

    ``splitter`` and ``extractor`` are those of the index if they are not those of the settings.
    The report has a note if the settings name another embedder than the index now has.
    """
    with closing(open_engine(settings)) as engine:
        embedding = Embedding(engine.open_embedder(embedder))
        known = plain_fingerprints(
            settings, identities(store, embedding), splitter=splitter, extractor=extractor
        )
        report = yield from Reembedding(store, embedding, fingerprints=known).run()
        return replace(report, notes=(*report.notes, *_settings_notes(settings, embedder)))


def _settings_notes(settings: Settings, embedder: Embedder) -> Iterator[str]:
    wanted = settings.embedding.model
    try:
        found = open_embedder(wanted, settings.embedding, stored=embedder.name)
    except MissingExtra:
        found = None
    if found is None or found.name != embedder.name:
        yield SETTINGS_NOTE.format(wanted=wanted, embedder=without_prefixes(embedder.name))
