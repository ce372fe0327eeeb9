"""The registries of all kinds of parts, by group; each is imported when its group is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from knotwork._registry import Registry
from knotwork.errors import UnknownName

_HOMES = {
    "retrievers": "_retrieval.retriever_registry:RETRIEVERS",
    "steps": "_retrieval.retriever_registry:STEPS",
    "loaders": "_indexing.loaders.loader_registry:LOADERS",
    "splitters": "_indexing.splitters:SPLITTERS",
    "extractors": "_transform.extractor:EXTRACTORS",
    "translators": "_extensions.queries.translator_registry:TRANSLATORS",
    "embedders": "_inference.model_registry:EMBEDDERS",
    "chat_models": "_inference.model_registry:CHAT_MODELS",
    "rerankers": "_inference.model_registry:RERANKERS",
    "stores": "_stores.urls:STORES",
    "prompts": "_inference.prompt_files:PROMPTS",
    "commands": "_cli.main:COMMANDS",
    "parts": "_registry:PARTS",
}
GROUPS = tuple(_HOMES)


def find_registry(group: str) -> Registry[Any]:
    """Return the registry of a group, such as "retrievers". Raises UnknownName."""
    if group not in _HOMES:
        raise UnknownName("group of parts", group, GROUPS)
    module, _, name = _HOMES[group].partition(":")
    registry: Registry[Any] = getattr(import_module(f"knotwork.{module}"), name)
    return registry


def register(group: str, name: str, part: object) -> None:
    """Register a part in this process under a name, as the entry point of a plugin does.

    ``group`` is one of `GROUPS`, such as "retrievers". ``part`` is what an entry point may name: a
    class, or a function that returns the part. It may also be the part itself, unless it is a
    retriever or a step: each filter needs one of its own. For "prompts" it is a folder or a
    package. Registering a name again replaces its part, so that a notebook can run a cell twice.

    Loaders are sent to the processes that read files; classes of a notebook can be sent too.

    Raises UnknownName for an unknown group, and ConfigError for a name that is invalid or belongs
    to a built-in part, a loader with a suffix of another loader, and a part that lacks a member of
    its protocol.
    """
    registry = find_registry(group)
    registry.register(name, part)
    if group == "loaders":
        _check_loader(name)


def _check_loader(name: str) -> None:
    """Raise the error of a registered loader that cannot be used."""
    from knotwork._indexing.loaders.loader_registry import LOADERS, plugin_loaders

    plugin_loaders()
    LOADERS.find(name)
