"""The documents that a key may read, by its filter: a knowledge base of their own."""

from __future__ import annotations

from collections.abc import Collection

from knotwork._knowledge_base import KnowledgeBase
from knotwork._retrieval.filters import read_filter
from knotwork._stores.base import Store, require_fields
from knotwork._stores.fields import BUILT_IN_FIELDS, PAGE, Selection, field_name
from knotwork._stores.filtered import FilteredStore
from knotwork._stores.id_sets import IdSet
from knotwork.errors import FilterError
from knotwork.records import AllOf, AnyOf, Condition, Filter, Not
from knotwork.records._filters import conditions


def read_rights(where: str) -> Filter:
    """Return the filter of a key. Raises FilterError, also if it is empty or of single pages."""
    wanted = read_filter(where)
    if wanted is None:
        raise FilterError("The filter of the key is empty.", fix="Write it as in: team = 'sales'")
    if any(field_name(condition.field) == PAGE for condition in conditions(wanted)):
        raise FilterError(
            "A key can be bound to documents, but not to pages of them.",
            fix="Leave out the field `page`.",
        )
    return wanted


def readable_part(base: KnowledgeBase, where: str) -> KnowledgeBase:
    """Return what the filter of a key leaves of an index now; it can only be read.

    A condition on a field that no document has is neither met nor not met, so that it admits no
    document by itself. Closing the part leaves the index open.
    """
    return KnowledgeBase(_readable_store(base.store, read_rights(where)), base.settings)


def _readable_store(store: Store, wanted: Filter) -> FilteredStore:
    fields = require_fields(store)
    known = {*BUILT_IN_FIELDS, *(field.name for field in fields.fields())}
    decidable = _decidable(wanted, known)
    nothing = Selection(IdSet(()), IdSet(()))
    selection = nothing if decidable is None else fields.select(decidable)
    return FilteredStore(store, fields, selection, is_apart=True)


def _decidable(wanted: Filter, known: Collection[str], *, negated: bool = False) -> Filter | None:
    """Return a filter without conditions on unknown fields; None if it can then admit nothing."""
    if isinstance(wanted, Condition):
        return wanted if field_name(wanted.field) in known else None
    if isinstance(wanted, Not):
        part = _decidable(wanted.part, known, negated=not negated)
        return None if part is None else Not(part)
    parts = [_decidable(part, known, negated=negated) for part in wanted.parts]
    kept = tuple(part for part in parts if part is not None)
    needs_all = isinstance(wanted, AllOf) is not negated
    if not kept or (needs_all and len(kept) < len(parts)):
        return None
    return AllOf(kept) if isinstance(wanted, AllOf) else AnyOf(kept)
