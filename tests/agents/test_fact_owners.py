"""Facts have an owner: nobody sees, ends or deletes what another owner has stated."""

from __future__ import annotations

from contextlib import closing

import pytest

from knotwork._companions import Companions
from knotwork._extensions.agents.fact_memory import FACTS, FactMemory, RememberedFact
from knotwork._stores.base import companions_of
from knotwork._stores.urls import open_store

OSLO = RememberedFact("Ann Lee", "lives in", "Oslo", "2024-01-01", source="said")
ROME = RememberedFact("Ann Lee", "lives in", "Rome", "2025-01-01")


@pytest.fixture(params=["file", "postgres"])
def companions(request: pytest.FixtureRequest, tmp_path):
    on_server = request.param == "postgres"
    url = request.getfixturevalue("postgres_url") if on_server else str(tmp_path / "index.knot")
    with closing(open_store(url, create=True)) as store:
        yield companions_of(store)


def test_owners_do_not_see_or_change_the_facts_of_others(companions: Companions) -> None:
    with closing(FactMemory(companions.open(FACTS), owner="a1")) as ours:
        theirs, local = ours.owned_by("b2"), ours.owned_by("")
        ours.learn(OSLO)
        for other in (theirs, local):
            assert other.facts() == other.about(["Ann Lee"]) == other.names() == []
            assert other.history("Ann Lee", "lives in") == []
            assert not other.holds(OSLO)
            assert other.end("Ann Lee", "lives in", "Oslo", at="2024-06-01") == 0
            assert not other.retract(OSLO)
            assert other.forget("Ann Lee") == 0
        assert theirs.learn(ROME) == (), "it ends no fact of another owner"
        theirs.learn(OSLO)
        assert ours.facts() == [OSLO]
        assert [fact.object for fact in theirs.facts()] == ["Oslo", "Rome"]
        with closing(theirs.copy()) as copied:
            assert copied.owner == "b2"
            assert copied.facts() == theirs.facts()
        assert theirs.forget("Oslo") == 1
        assert ours.facts() == [OSLO]
    with closing(FactMemory(companions.open(FACTS), owner="a1")) as again:
        assert again.facts() == [OSLO]
