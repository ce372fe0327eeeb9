"""The registry of rerankers: "SCHEME:MODEL" names one; each is imported when it is opened."""

from __future__ import annotations

from collections.abc import Callable

from knotwork.config import RerankSettings
from knotwork.errors import ConfigError, UnknownName
from knotwork.inference.reranking import Reranker

NO_RERANKER = "none"
Factory = Callable[[str, RerankSettings], Reranker]


def open_reranker(settings: RerankSettings) -> Reranker | None:
    """Return the reranker that ``settings.model`` names, or None for "none".

    Cheap: models are loaded and servers asked on first use. Raises UnknownName for an unknown
    scheme, MissingExtra when its libraries are not installed, and ConfigError otherwise.
    """
    spec = settings.model
    if spec == NO_RERANKER:
        return None
    scheme, _, model = spec.partition(":")
    factory = RERANKERS.get(scheme)
    if factory is None:
        raise UnknownName("reranking model", spec, [NO_RERANKER, *(f"{s}:…" for s in RERANKERS)])
    if not model:
        raise ConfigError(
            f"The reranking model `{spec}` names no model.",
            fix=f"Write the model after the colon: {scheme}:NAME",
        )
    return factory(model, settings)


def _open_local(model: str, settings: RerankSettings) -> Reranker:
    from knotwork.inference.cross_encoder import LocalReranker

    return LocalReranker(model, download=settings.download)


def _open_served(model: str, settings: RerankSettings) -> Reranker:
    from knotwork.inference.chat_server import ChatServer
    from knotwork.inference.reranking import ServedReranker
    from knotwork.inference.retries import RetryPolicy

    server = ChatServer(
        settings.base_url,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
        section="rerank",
    )
    # Someone waits for the search, which goes on without it: one more attempt, and a short one.
    return ServedReranker(model, server, retries=RetryPolicy(attempts=2, patience_s=2.0))


RERANKERS: dict[str, Factory] = {"local": _open_local, "served": _open_served}
