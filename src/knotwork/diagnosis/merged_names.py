"""Check of what is decided about names: how many are joined, and what waits to be compared."""

from __future__ import annotations

from knotwork.diagnosis.results import Check
from knotwork.indexing.resolution.listing import read_same_names
from knotwork.stores.base import Store


def check_merged_names(store: Store) -> list[Check]:
    """Return how many things have several names; nothing where names were never compared."""
    known = read_same_names(store)
    if not (known.compared or known.things or known.apart):
        return []
    refused = sum(item.refused for item in known.apart)
    parts = [
        f"things with several names: {len(known.things):,}",
        f"pairs held apart: {len(known.apart) - refused:,}",
    ]
    if refused:
        parts.append(f"joins that do not count, for they contradict others: {refused:,}")
    if known.waiting:
        parts.append(f"names that changed since they were compared: {known.waiting:,}")
    fix = "Compare them: knotwork graph names --find" if known.waiting else ""
    return [Check("Names", ok=True, detail="; ".join(parts), fix=fix)]
