"""The registry of rerankers: "SCHEME:MODEL" names one; each is imported when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from knotwork.config import RerankSettings
from knotwork.inference.reranking import Reranker
from knotwork.inference.specs import NONE, choose_factory

Factory = Callable[[str, RerankSettings], Reranker]


def open_reranker(settings: RerankSettings) -> Reranker | None:
    """Return the reranker that ``settings.model`` names, or None for "none".

    Cheap: models are loaded and servers asked on first use. Raises UnknownName for an unknown
    scheme, MissingExtra when its libraries are not installed, and ConfigError otherwise.
    """
    if settings.model == NONE:
        return None
    factory, model = choose_factory(settings.model, RERANKERS, what="reranking model")
    return factory(model, settings)


def _open_local(model: str, settings: RerankSettings) -> Reranker:
    from knotwork.inference.local_models.onnx_reranker import OnnxReranker, find_graph

    folder = Path(model).expanduser()
    if find_graph(folder) is not None:
        return OnnxReranker(folder, threads=settings.threads)

    from knotwork.inference.local_models.cross_encoder import LocalReranker

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
