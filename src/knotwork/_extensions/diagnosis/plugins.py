"""Check the installed plugins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from knotwork._extensions.diagnosis.installation import Check, failed_check
from knotwork._indexing.loaders.loader_registry import plugin_loaders
from knotwork._knowledge_base.registries import GROUPS, find_registry
from knotwork._registry import installed_plugins
from knotwork._retrieval.retriever_registry import RETRIEVERS, STEPS
from knotwork.errors import ConfigError


def check_plugins() -> Iterator[Check]:
    """List the plugins by distribution, and yield a failed check for each that cannot be used.

    Imports all plugins. Nothing is yielded if none is installed.
    """
    plugin_loaders()  # a loader may be refused for its suffixes
    registries = [find_registry(group) for group in GROUPS]
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for registry in registries:
        for entry in registry.entries():
            if entry.is_plugin:
                parts[entry.origin].append(f"{registry.kind} `{entry.name}`")
    for origin, names in sorted(parts.items()):
        yield Check("Plugins", ok=True, detail=f"{origin}: {', '.join(names)}")
    for registry in registries:
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
    groups = {registry.group for registry in registries}
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
