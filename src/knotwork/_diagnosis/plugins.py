"""Check the installed plugins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from knotwork._diagnosis.installation import Check, failed_check
from knotwork._indexing.loaders.loader_registry import LOADERS, plugin_loaders
from knotwork._indexing.splitters import SPLITTERS
from knotwork._inference.model_registry import CHAT_MODELS, EMBEDDERS, RERANKERS
from knotwork._inference.prompt_files import PROMPTS
from knotwork._registry import Registry, installed_plugins
from knotwork._retrieval.queries.translator_registry import TRANSLATORS
from knotwork._retrieval.retriever_registry import RETRIEVERS, STEPS
from knotwork._stores.urls import STORES
from knotwork._transform.extractor_registry import EXTRACTORS
from knotwork.errors import ConfigError

REGISTRIES: tuple[Registry[Any], ...] = (
    RETRIEVERS,
    STEPS,
    LOADERS,
    SPLITTERS,
    EXTRACTORS,
    TRANSLATORS,
    EMBEDDERS,
    CHAT_MODELS,
    RERANKERS,
    STORES,
    PROMPTS,
)


def check_plugins() -> Iterator[Check]:
    """List the plugins by distribution, and yield a failed check for each that cannot be used.

    Imports all plugins. Nothing is yielded if none is installed.
    """
    plugin_loaders()  # a loader may be refused for its suffixes
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for registry in REGISTRIES:
        for entry in registry.entries():
            if entry.is_plugin:
                parts[entry.origin].append(f"{registry.kind} `{entry.name}`")
    for origin, names in sorted(parts.items()):
        yield Check("Plugins", ok=True, detail=f"{origin}: {', '.join(names)}")
    for registry in REGISTRIES:
        for fault in registry.faults():
            yield failed_check("Plugins", fault)
    for name in sorted(set(RETRIEVERS.names()) & set(STEPS.names())):
        both = f"{RETRIEVERS.find(name).origin} and {STEPS.find(name).origin}"
        yield Check(
            "Plugins",
            ok=False,
            detail=f"`{name}` is a retriever and a step, of {both}; compositions use the step",
            fix="Uninstall one of them.",
        )
    groups = {registry.group for registry in REGISTRIES}
    for group, entries in installed_plugins().items():
        if group not in groups:
            known = ", ".join(sorted(groups))
            yield failed_check(
                "Plugins",
                ConfigError(
                    f"{entries[0].origin} has entry points in the unknown group `{group}`.",
                    fix=f"Valid groups: {known}.",
                ),
            )
