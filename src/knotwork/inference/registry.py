"""The registry of embedders: "SCHEME:MODEL" names one; each is imported when it is opened."""

from __future__ import annotations

from collections.abc import Callable

from knotwork.config import EmbeddingSettings
from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.inference.specs import NONE, choose_factory

NO_EMBEDDER = NONE
AUTO = "auto"
"""The model of the index at hand, or the preferred local one for a new index."""
Factory = Callable[[str, EmbeddingSettings], Embedder]


def open_embedder(
    spec: str, settings: EmbeddingSettings | None = None, *, stored: str = ""
) -> Embedder | None:
    """Return the embedder that ``spec`` names, or None for "none"; ``settings.model`` is not read.

    ``stored`` is the name of the embedder whose vectors the index holds, if any: "auto" prefers it.
    Cheap: models are loaded and servers asked on first use. Raises UnknownName for an unknown
    scheme, MissingExtra when its libraries are not installed, and ConfigError otherwise.
    """
    if spec == NO_EMBEDDER:
        return None
    if spec == AUTO:
        spec = choose_model(stored)
    factory, model = choose_factory(spec, EMBEDDERS, what="embedding model", others=(NONE, AUTO))
    return factory(model, settings or EmbeddingSettings())


def choose_model(stored: str = "") -> str:
    """Return the specification that "auto" stands for on an index with vectors of ``stored``."""
    from knotwork.inference.local_models.catalogue import preferred_model

    return stored if follows_index(stored) else f"local:{preferred_model()}"


def follows_index(stored: str) -> bool:
    """Return True if "auto" takes the embedder of an index with vectors of ``stored``."""
    from knotwork.inference.local_models.catalogue import is_model_name

    scheme, _, model = stored.partition(":")
    return scheme == "local" and is_model_name(model)


def explain_choice(spec: str, stored: str = "") -> str:
    """Return why `open_embedder` takes the model that it takes, for people."""
    from knotwork.inference.local_models.catalogue import explain_preferred

    if spec != AUTO:
        return "set as embedding.model"
    return f"auto: {'the model of the index' if follows_index(stored) else explain_preferred()}"


def _open_local(model: str, settings: EmbeddingSettings) -> Embedder:
    from knotwork.inference.local_models.catalogue import open_local

    return open_local(model, settings)


def _open_openai(model: str, settings: EmbeddingSettings) -> Embedder:
    from knotwork.inference.http import ModelServer
    from knotwork.inference.openai import BATCH_TOKENS, OpenAIEmbedder

    server = ModelServer(settings.base_url, api_key=settings.api_key, timeout_s=settings.timeout_s)
    return OpenAIEmbedder(
        model,
        server,
        dimension=settings.dimension,
        batch_tokens=settings.batch_tokens or BATCH_TOKENS,
        concurrency=settings.concurrency,
        embeds_sentences=settings.sentences,
    )


def _open_hashing(model: str, settings: EmbeddingSettings) -> Embedder:
    """Open the embedder without a model, "hashing:256": for trials and tests."""
    from knotwork.inference.hashing import HashingEmbedder

    if not model.isdecimal() or not 1 <= int(model) <= 65_536:
        raise ConfigError(
            f"The embedding model `hashing:{model}` must name its dimension.",
            fix="For example: hashing:256",
        )
    del settings
    return HashingEmbedder(int(model))


EMBEDDERS: dict[str, Factory] = {
    "hashing": _open_hashing,
    "local": _open_local,
    "openai": _open_openai,
}
