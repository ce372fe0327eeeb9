"""Contributions by the integer keys of their rows, with the names that their hashes stand for."""

from __future__ import annotations

from collections.abc import Iterable

from knotwork._cancellation import checked
from knotwork._stores.collisions import check_same_name
from knotwork._stores.sql.graph_tables import relation_key
from knotwork.records import Mention, Relation, id_to_int, int_to_id

MentionKey = tuple[int, int]
"""Chunk and entity."""

ContributionKey = tuple[int, int, int, int]
"""Chunk, source, target and relation."""


def keyed_mentions(
    mentions: Iterable[Mention], normal_forms: dict[int, str]
) -> dict[MentionKey, Mention]:
    """Return mentions by key, and add the normal forms of their entities to those of a transaction.

    Raises IdCollision if two entities have one key.
    """
    found: dict[MentionKey, Mention] = {}
    for mention in checked(mentions):
        entity = id_to_int(mention.entity_id)
        form = normal_forms.setdefault(entity, mention.normal_form)
        if form != mention.normal_form:
            check_same_name(mention.entity_id, "entity", form, mention.normal_form)
        found[id_to_int(mention.chunk_id), entity] = mention
    return found


def keyed_relations(
    relations: Iterable[Relation], names: dict[int, str]
) -> dict[ContributionKey, Relation]:
    """Return relations by key, and add their names to those of a transaction.

    Raises IdCollision if two names have one key.
    """
    found: dict[ContributionKey, Relation] = {}
    for relation in checked(relations):
        key = relation_key(relation.relation)
        name = names.setdefault(key, relation.relation)
        if name != relation.relation:
            check_same_name(int_to_id(key), "relation", name, relation.relation)
        ends = id_to_int(relation.source), id_to_int(relation.target)
        found[id_to_int(relation.chunk_id), *ends, key] = relation
    return found
