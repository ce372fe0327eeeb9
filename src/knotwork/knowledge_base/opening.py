"""Opening a knowledge base, with its settings from wherever they come."""

from __future__ import annotations

from pathlib import Path

from knotwork.config import Settings, load_settings
from knotwork.config.settings import setting_fields
from knotwork.errors import ConfigError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.inference.reranking import Reranker
from knotwork.knowledge_base.base import KnowledgeBase
from knotwork.notebook import teach_display
from knotwork.stores.registry import open_store


def open(  # noqa: A001 - `knotwork.open` is how it is called
    path: str | Path | None = None,
    *,
    settings: Settings | str | Path | None = None,
    read_only: bool = False,
    embedder: Embedder | None = None,
    chat_model: ChatModel | None = None,
    reranker: Reranker | None = None,
    **overrides: object,
) -> KnowledgeBase:
    """Open the knowledge base at ``path``, and make one if there is none; no model is loaded.

    ``settings`` are Settings, or the file to read them from; without them, `knotwork.toml` and the
    environment decide. ``overrides`` are single settings as SECTION_KEY, for example
    ``embedding_model="none"`` or ``index_chunk_tokens=300``. ``path`` is a file or ``memory:``,
    by default ``store.path``. ``embedder``, ``chat_model`` and ``reranker`` take the place of
    those in the settings.

    Raises StoreNotFound when it is to be read only and is not there, SchemaMismatch when the file
    is no index of this version, ConfigError or UnknownName for wrong settings.
    """
    loaded = _settle(settings, overrides)
    url = str(path) if path is not None else loaded.store.path
    store = open_store(url, read_only=read_only, create=not read_only)
    teach_display()
    return KnowledgeBase(store, loaded, embedder=embedder, chat_model=chat_model, reranker=reranker)


def _settle(settings: Settings | str | Path | None, overrides: dict[str, object]) -> Settings:
    known = {entry.name.replace(".", "_"): entry.name for entry in setting_fields()}
    for name in overrides:
        if name not in known:
            raise UnknownName("setting", name, known)
    if isinstance(settings, Settings):
        if overrides:
            raise ConfigError(
                f"`{next(iter(overrides))}` was given beside whole Settings.",
                fix="Set it there: dataclasses.replace, or load_settings(overrides=...).",
            )
        return settings
    values = {known[name]: value for name, value in overrides.items()}
    return load_settings(file=settings, overrides=values).settings
