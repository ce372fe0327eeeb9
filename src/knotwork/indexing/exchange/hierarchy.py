"""The communities of another system as ours: members that came in, and chunks that hold them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knotwork.indexing.exchange.foreign import ForeignCommunity, Losses
from knotwork.records import Community, Extraction, Member, content_id, entity_id

_DIGITS = 6

_Members = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Communities, parents before children, and the id of each by the other system's."""

    communities: tuple[Community, ...]
    ids: Mapping[str, str]


def build_hierarchy(
    foreign: Sequence[ForeignCommunity],
    forms: Mapping[str, str],
    extractions: Mapping[str, Extraction],
    losses: Losses,
    *,
    taken: Collection[str] = (),
) -> Hierarchy:
    """Return the communities; ``taken`` are ids of entities that are in others already.

    On one level an entity is in one community, which lies within that above it: what breaks this is
    counted among the losses. A chunk belongs to the community with most of its entities.
    """
    ordered = _inside_parents(sorted(foreign, key=lambda c: c.level), losses)
    members = _members(ordered, forms, losses, frozenset(taken))
    kept = [community for community in ordered if members.get(community.id)]
    strengths = _strengths(kept, members, extractions.values())
    chunks = _chunks(kept, members, extractions)
    found: list[Community] = []
    ids: dict[str, str] = {}
    for community in kept:
        held, own = members[community.id], tuple(sorted(chunks[community.id]))
        ids[community.id] = content_id("community", community.level, *sorted(held), *own)
        parent = ids[community.parent_id] if community.parent_id is not None else None
        ranked = _ranked(held, strengths[community.id])
        found.append(Community(ids[community.id], community.level, parent, ranked, own))
    return Hierarchy(tuple(found), ids)


def _inside_parents(ordered: Sequence[ForeignCommunity], losses: Losses) -> list[ForeignCommunity]:
    """Return the communities that are topmost, or lie below one that is there."""
    levels: dict[str, int] = {}
    kept: list[ForeignCommunity] = []
    for community in ordered:
        above = community.parent_id
        if community.id in levels:
            losses.add("communities", "a second one with its number")
        elif above is None and community.level == 0:
            levels[community.id] = 0
            kept.append(community)
        elif above is not None and levels.get(above) == community.level - 1:
            levels[community.id] = community.level
            kept.append(community)
        else:
            losses.add("communities", "the community above it is not there")
    return kept


def _members(
    ordered: Sequence[ForeignCommunity],
    forms: Mapping[str, str],
    losses: Losses,
    taken: frozenset[str],
) -> _Members:
    found: _Members = {}
    placed: set[tuple[int, str]] = set()
    for community in ordered:
        above = set(found.get(community.parent_id, ())) if community.parent_id else None
        held: dict[str, None] = {}
        for key in community.entity_ids:
            member = entity_id(forms[key]) if key in forms else ""
            if not member:
                losses.add("members of communities", "the entity did not come in")
            elif member in taken:
                losses.add("members of communities", "in a community of this index already")
            elif member not in held and (
                (community.level, member) in placed or (above is not None and member not in above)
            ):
                losses.add("members of communities", "in another community of that level")
            else:
                held[member] = None
        placed.update((community.level, member) for member in held)
        if held:
            found[community.id] = list(held)
        else:
            losses.add("communities", "none of its entities came in")
    return found


def _strengths(
    kept: Iterable[ForeignCommunity], members: _Members, extractions: Iterable[Extraction]
) -> dict[str, dict[str, float]]:
    """Return how strongly each member is related to the others of its community."""
    of: defaultdict[str, set[str]] = defaultdict(set)
    for community in kept:
        for member in members[community.id]:
            of[member].add(community.id)
    strengths: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for extraction in extractions:
        for relation in extraction.relations:
            for key in of[relation.source] & of[relation.target]:
                own = strengths[key]
                for end in (relation.source, relation.target):
                    own[end] = own.get(end, 0.0) + relation.weight
    return strengths


def _ranked(held: Sequence[str], strengths: Mapping[str, float]) -> tuple[Member, ...]:
    """Return the members by importance: their share of all relations within, and 1 for each."""
    values = {member: 1.0 + strengths.get(member, 0.0) for member in held}
    total = sum(values.values())
    ranked = [Member(member, round(value / total, _DIGITS)) for member, value in values.items()]
    return tuple(sorted(ranked, key=lambda member: (-member.importance, member.entity_id)))


def _chunks(
    kept: Sequence[ForeignCommunity], members: _Members, extractions: Mapping[str, Extraction]
) -> dict[str, list[str]]:
    """Return the chunks of each community; on each level a chunk is in one at most."""
    place = {(c.level, member): c for c in kept for member in members[c.id]}
    depth = max((community.level for community in kept), default=-1) + 1
    found: dict[str, list[str]] = {community.id: [] for community in kept}
    for key, extraction in extractions.items():
        named = sorted({mention.entity_id for mention in extraction.mentions})
        above: str | None = None
        for level in range(depth):
            votes = Counter(
                place[level, member].id
                for member in named
                if (level, member) in place and place[level, member].parent_id == above
            )
            if not votes:
                break
            above = min(votes, key=lambda community: (-votes[community], community))
            found[above].append(key)
    return found
