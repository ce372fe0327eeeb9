"""Facts have an owner: nobody sees, ends or deletes what another owner has stated."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

from knotwork import _sqlite_file
from knotwork._companions import Companions
from knotwork._stores.base import companions_of
from knotwork._stores.urls import open_store
from knotwork.agents._fact_memory import FACTS, FactMemory, RememberedFact
from knotwork.errors import StoreReadOnly

OSLO = RememberedFact("Ann Lee", "lives in", "Oslo", "2024-01-01", source="said")
ROME = RememberedFact("Ann Lee", "lives in", "Rome", "2025-01-01")

EARLIER_TABLE = """
CREATE TABLE fact (
    id INTEGER PRIMARY KEY,
    subject TEXT NOT NULL, relation TEXT NOT NULL, object TEXT NOT NULL,
    subject_form TEXT NOT NULL, relation_form TEXT NOT NULL, object_form TEXT NOT NULL,
    valid_from TEXT NOT NULL, valid_to TEXT, source TEXT NOT NULL,
    UNIQUE (subject_form, relation_form, object_form, valid_from));
CREATE INDEX fact_of_object ON fact (object_form);
INSERT INTO fact VALUES
    (7, 'Ann Lee', 'lives in', 'Oslo', 'ann lee', 'lives in', 'oslo', '2024-01-01', NULL, 'said');
"""


@pytest.fixture(params=["file", "postgres"])
def companions(request: pytest.FixtureRequest, tmp_path):
    on_server = request.param == "postgres"
    url = request.getfixturevalue("postgres_url") if on_server else str(tmp_path / "index.knot")
    with closing(open_store(url, create=True)) as store:
        yield companions_of(store)


@pytest.fixture
def earlier_file(tmp_path):
    """A file of facts as earlier versions wrote it."""
    path = tmp_path / "index.knot.memory"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(EARLIER_TABLE)
    return path


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


def test_facts_of_an_earlier_file_belong_to_the_user_of_this_machine(earlier_file) -> None:
    for _ in range(2):
        with closing(FactMemory(earlier_file)) as memory:
            assert memory.facts() == [OSLO]
            assert memory.owned_by("a1").facts() == []
    with closing(FactMemory(earlier_file, owner="a1")) as memory:
        memory.learn(OSLO)
        assert memory.facts() == memory.owned_by("").facts() == [OSLO]


def test_an_earlier_file_that_cannot_be_written_is_still_read(earlier_file, monkeypatch) -> None:
    def open_read_only(name: str, *, flags: int) -> apsw.Connection:
        del flags
        return opened(name, flags=apsw.SQLITE_OPEN_READONLY)

    opened = _sqlite_file.open_connection
    monkeypatch.setattr(_sqlite_file, "open_connection", open_read_only)
    with closing(FactMemory(earlier_file)) as memory:
        assert memory.facts() == memory.about(["Oslo"]) == [OSLO]
        assert memory.owned_by("a1").facts() == []
        with pytest.raises(StoreReadOnly, match="is not writable"):
            memory.learn(ROME)
