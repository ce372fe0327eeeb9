"""What every store that `StoresCommunities` does with communities and reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import pytest

from knotwork.records import (
    Community,
    CommunityReport,
    Finding,
    Member,
    Span,
    Support,
    content_id,
    entity_id,
)
from knotwork.stores.base import Store
from knotwork.stores.communities import StoresCommunities, read_parents
from knotwork.testing.store_contract import add_document

_ABSENT = content_id("absent")


class CommunityHoldingStore(Store, StoresCommunities, Protocol):
    """A store with both: what the fixture ``store`` returns."""


def sample_community(
    name: str, *, of: str, chunks: tuple[str, ...] = (), level: int = 0, parent: str | None = None
) -> Community:
    """Return a community of entities given by their names, the first the most important."""
    forms = of.lower().split()
    shares = [len(forms) - place for place in range(len(forms))]
    members = tuple(
        Member(entity_id(form), share / sum(shares))
        for form, share in zip(forms, shares, strict=True)
    )
    key = content_id("community", name)
    above = None if parent is None else content_id("community", parent)
    return Community(key, level, above, members, tuple(sorted(chunks)))


def sample_report(community: Community, *chunks: str, key: str = "k") -> CommunityReport:
    """Return a report that cites these chunks, one in each finding."""
    findings = tuple(
        Finding(f"Finding {n} — 发现", (Support(chunk, Span(n, n + 5)),))
        for n, chunk in enumerate(chunks)
    )
    return CommunityReport(
        community.id, "Title", "Summary\n摘要", findings, 2.5, "en", "extractive", key
    )


class CommunityStoreContract:
    """Behaviour of `StoresCommunities`. Subclass it and supply the fixture ``store``."""

    def test_communities_come_back_as_they_were_put(self, store: CommunityHoldingStore) -> None:
        top = sample_community("top", of="ada bob cy", chunks=(content_id(1), content_id(2)))
        low = sample_community("low", of="bob cy", chunks=(content_id(2),), level=1, parent="top")
        store.communities.replace([low, top])
        assert store.communities.communities([top.id, low.id, _ABSENT, "no id"]) == {
            top.id: top,
            low.id: low,
        }
        assert store.communities.levels() == [[top.id], [low.id]]
        assert store.communities.of_entities([entity_id("bob"), entity_id("ada"), _ABSENT]) == {
            entity_id("bob"): [top.id, low.id],
            entity_id("ada"): [top.id],
        }
        found = store.communities.of_chunks([content_id(2), content_id(1), _ABSENT])
        assert found == {content_id(1): [top.id], content_id(2): [top.id, low.id]}
        assert store.communities.stale() == []

    def test_parents_are_those_of_the_communities(self, store: CommunityHoldingStore) -> None:
        assert dict(read_parents(store.communities)) == {}
        top = sample_community("top", of="ada bob cy")
        low = sample_community("low", of="bob cy", level=1, parent="top")
        store.communities.replace([top, low])
        parents = read_parents(store.communities)
        assert dict(parents) == {top.id: None, low.id: top.id}
        assert list(parents) == sorted(parents)

    def test_replacing_removes_what_is_gone_with_its_report(
        self, store: CommunityHoldingStore
    ) -> None:
        first, second = sample_community("1", of="ada bob"), sample_community("2", of="cy")
        store.communities.replace([first, second])
        store.communities.put_reports([sample_report(first), sample_report(second)])
        changed = replace(second, members=(Member(entity_id("dee"), 1.0),))
        store.communities.replace([changed])
        assert store.communities.levels() == [[second.id]]
        assert store.communities.communities([second.id]) == {second.id: changed}
        assert store.communities.of_entities([entity_id(n) for n in ("ada", "cy", "dee")]) == {
            entity_id("dee"): [second.id]
        }
        assert list(store.communities.reports([first.id, second.id])) == [second.id]
        store.communities.replace([])
        assert store.communities.levels() == []
        assert store.communities.reports([second.id]) == {}

    def test_reports_come_back_as_they_were_put(self, store: CommunityHoldingStore) -> None:
        community = sample_community("1", of="ada")
        store.communities.replace([community])
        report = sample_report(community, content_id(1), content_id(2), content_id(1))
        store.communities.put_reports([report])
        assert store.communities.reports([community.id, _ABSENT]) == {community.id: report}
        other = sample_report(community, key="other")
        store.communities.put_reports([other])
        assert store.communities.reports([community.id]) == {community.id: other}
        store.communities.remove_reports([community.id, _ABSENT])
        assert store.communities.reports([community.id]) == {}

    def test_a_removed_document_marks_exactly_what_it_touched(
        self, store: CommunityHoldingStore
    ) -> None:
        gone, *_ = [add_document(store, uri, names) for uri, names in _DOCUMENTS.items()]
        (chunk, *_), kept = (store.documents.chunk_ids(content_id("document", u)) for u in "ab")
        top = sample_community("top", of="ada bob cy dee eve", chunks=(chunk, *kept))
        low = sample_community("low", of="ada bob", chunks=(chunk,), level=1, parent="top")
        lone = sample_community("lone", of="bob", level=2, parent="low")
        solo = sample_community("solo", of="ada", chunks=(chunk,), level=2, parent="low")
        other = sample_community("other", of="cy dee", chunks=tuple(kept), level=1, parent="top")
        communities = [top, low, lone, solo, other]
        store.communities.replace(communities)
        store.communities.put_reports(
            [sample_report(top, kept[0]), sample_report(low, chunk), sample_report(solo)]
        )
        store.texts("report").add((c.id, "Report about Ada") for c in communities)
        store.remove_documents([gone])
        # "a" alone mentioned Ada; Bob is mentioned elsewhere too, Cy and Dee never were by "a".
        assert store.communities.stale() == sorted([top.id, low.id, lone.id])
        found = store.communities.communities([c.id for c in communities])
        assert found.keys() == {top.id, low.id, lone.id, other.id}
        assert found[other.id] == other
        assert entity_id("ada") not in found[top.id].entity_ids
        assert found[low.id].entity_ids == (entity_id("bob"),)
        assert (found[low.id].chunk_ids, found[top.id].chunk_ids) == ((), tuple(sorted(kept)))
        assert list(store.communities.reports([c.id for c in communities])) == [top.id]
        assert store.texts("report").count() == 3
        store.communities.replace(found.values())
        assert store.communities.stale() == []

    def test_a_transaction_that_fails_leaves_communities_as_they_were(
        self, store: CommunityHoldingStore
    ) -> None:
        gone = add_document(store, "a", ["Ada", "Bob"])
        community = sample_community("1", of="ada bob")
        store.communities.replace([community])
        report = sample_report(community, *store.documents.chunk_ids(gone))
        store.communities.put_reports([report])
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                store.remove_documents([gone])
                store.communities.replace([])
                raise ZeroDivisionError
        assert store.communities.communities([community.id]) == {community.id: community}
        assert store.communities.reports([community.id]) == {community.id: report}
        assert store.communities.stale() == []


_DOCUMENTS = {"a": ["Ada", "Bob"], "b": ["Cy", "Dee"], "c": ["Bob", "Eve"]}
