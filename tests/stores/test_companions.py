"""Calls, facts and jobs are kept with an index, in files beside it or in its database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from threading import Thread

import psycopg
import pytest
from tests.inference.chat_fakes import ask

from knotwork._companions import CompanionDatabase, Companions, FileCompanions
from knotwork._extensions.agents.fact_memory import FACTS, FactMemory, RememberedFact
from knotwork._extensions.server.job_store import JOBS, MOST_FINISHED, JobState, JobStore
from knotwork._inference.call_cache import CALLS, CallCache, RejectedReply
from knotwork._inference.call_costs import PriceTable
from knotwork._inference.chat import ChatReply, TokenUsage
from knotwork._stores.base import companions_of
from knotwork._stores.urls import open_store
from knotwork.errors import Conflict, StoreError

KEY, OTHER = b"k" * 16, b"o" * 16
REPLY = ChatReply("Ada\x00 \ud800 说", usage=TokenUsage(10, 2, 1))


@pytest.fixture(params=["file", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path) -> str:
    """The URL of an index that exists."""
    on_server = request.param == "postgres"
    url = request.getfixturevalue("postgres_url") if on_server else str(tmp_path / "index.knot")
    open_store(url, create=True).close()
    return url


@pytest.fixture
def companions(index: str) -> Iterator[Companions]:
    with closing(open_store(index)) as store:
        yield companions_of(store)


def open_calls(companions: Companions) -> CallCache:
    return CallCache(companions.open(CALLS))


def open_jobs(companions: Companions, place: str = "") -> JobStore:
    return JobStore(companions.open(JOBS), place)


def test_replies_and_their_cost_are_there_for_the_next(companions: Companions) -> None:
    with closing(open_calls(companions)) as cache:
        cache.accept(KEY, "m", ask("?"), REPLY)
        cache.accept(KEY, "m", ask("?"), ChatReply("later", usage=REPLY.usage))
        cache.reject(OTHER, "m", ask("?"), REPLY, "no line")
        cache.reject(OTHER, "m", ask("?"), REPLY, "no line \x00")
        cache.count_reuse("m", ask("?"), REPLY.usage)
    assert companions.has(CALLS)
    with closing(open_calls(companions)) as cache:
        assert cache.find(KEY) == REPLY, "the first reply stays"
        (rejected,) = cache.rejected()
        assert (rejected.reason, rejected.attempts) == ("no line \x00", 2)
        assert isinstance(cache.find(OTHER), RejectedReply)
        total = cache.total(prices=PriceTable.read(["m 1 1"]))
        assert (total.usage.calls, total.usage.reused, total.rejected) == (4, 1, 2)
        assert total.money == Decimal(48) / 1_000_000
        assert (ask("?").stage,) in [one.group for one in cache.totals("stage")]
        cache.revoke(KEY, "m", ask("?"), REPLY, "a stricter check")
        assert cache.reply_count() == 0
        assert cache.forget([ask("?").source]) == 2
        assert cache.find(KEY) is None
        assert cache.check() == []


def test_a_write_that_fails_leaves_nothing(companions: Companions) -> None:
    def forget_all_and_fail(tables: CompanionDatabase) -> None:
        tables.change("DELETE FROM reply")
        tables.change("INSERT INTO reply (key) VALUES ($1)", (KEY,))

    def forget_all_and_raise(tables: CompanionDatabase) -> None:
        tables.change("DELETE FROM reply")
        raise ZeroDivisionError

    with closing(open_calls(companions)) as cache:
        cache.accept(KEY, "m", ask("?"), REPLY)
        with pytest.raises(StoreError):
            cache.write(forget_all_and_fail)
        with pytest.raises(ZeroDivisionError):
            cache.write(forget_all_and_raise)
        assert cache.find(KEY) == REPLY


def test_two_that_write_at_once_lose_nothing(companions: Companions) -> None:
    def write(first: int) -> None:
        with closing(open_calls(companions)) as cache:
            for number in range(first, first + 40):
                key = number.to_bytes(16, "big")
                cache.accept(key, "m", ask("?"), REPLY)

    threads = [Thread(target=write, args=(first,)) for first in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(open_calls(companions)) as cache:
        assert cache.reply_count() == 80
        assert cache.total().usage.calls == 120


def test_facts_are_learned_ended_and_corrected(companions: Companions) -> None:
    oslo = RememberedFact("Ann Lee", "lives in", "Oslo", "2024-01-01", source="said")
    rome = RememberedFact("Ann Lee", "lives in", "Rome", "2025-01-01")
    with closing(FactMemory(companions.open(FACTS))) as memory:
        memory.learn(oslo)
        (closed,) = memory.learn(rome)
        assert closed.valid_to == "2025-01-01"
        memory.learn(RememberedFact("Ann Lee", "knows", "Ben Cole", "2024-05-01"))
    with closing(FactMemory(companions.open(FACTS))) as memory:
        assert [fact.object for fact in memory.facts(at="2024-06-01")] == ["Ben Cole", "Oslo"]
        assert [fact.object for fact in memory.about(["ann lee", "Cy"])] == [
            *("Rome", "Ben Cole", "Oslo")
        ]
        assert memory.names() == ["Ann Lee", "Ben Cole", "Oslo", "Rome"]
        with closing(memory.copy()) as copied:
            assert copied.facts() == memory.facts()
        assert memory.retract(rome)
        assert memory.history("Ann Lee", "lives in") == [oslo]
        assert memory.forget("Ben Cole") == 1
        memory.check_writable()


def test_jobs_keep_their_states_and_events(companions: Companions) -> None:
    with closing(open_jobs(companions)) as jobs:
        job = jobs.add("one", "index", {"retry": True})
        assert jobs.add("one", "index", {"retry": True}) == job
        assert jobs.add("two", "index", {"retry": True}) != job
        assert jobs.begin(job.id)
        assert not jobs.begin(job.id), "it is no longer queued"
        jobs.add_event(job.id, "progress", {"done": 1})
        assert jobs.count_crash(job) == 1
        assert jobs.count_crash(job) == 2
        jobs.set_state(job.id, JobState.FINISHED, report={"read": 3})
        with pytest.raises(Conflict):
            jobs.set_state(job.id, JobState.RUNNING)
    with closing(open_jobs(companions)) as jobs:
        found = jobs.find("one", job.id)
        assert found is not None
        assert (found.state, found.report, found.progress) == ("finished", {"read": 3}, {"done": 1})
        events = jobs.events(job.id)
        assert [event.kind for event in events] == ["state", "state", "progress", "state"]
        assert jobs.events(job.id, after=events[-2].number) == events[-1:]
        assert jobs.counts() == {"finished": 1, "queued": 1}
        jobs.forget("one")
        assert jobs.jobs("one", limit=9) == []
        assert [job.workspace for job in jobs.open_jobs()] == ["two"]


def test_old_jobs_are_deleted(companions: Companions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knotwork._extensions.server.job_store.MOST_FINISHED", 3)
    assert MOST_FINISHED > 3
    with closing(open_jobs(companions)) as jobs:
        for _ in range(6):
            job = jobs.add("one", "index", {})
            jobs.begin(job.id)
            jobs.set_state(job.id, JobState.FINISHED)
        assert len(jobs.jobs("one", limit=99)) == 4


def test_a_closed_companion_is_reported(companions: Companions) -> None:
    for companion in (CALLS, FACTS, JOBS):
        opened = companions.open(companion)
        opened.close()
        opened.close()
        with pytest.raises(StoreError, match="is closed"):
            opened.rows("SELECT 1")


class TestOnAServer:
    """What only several processes of a database server meet."""

    @pytest.fixture
    def companions(self, postgres_url: str) -> Iterator[Companions]:
        with closing(open_store(postgres_url, create=True)) as store:
            yield companions_of(store)

    def test_a_connection_that_breaks_is_opened_again(
        self, companions: Companions, postgres_server: str
    ) -> None:
        with closing(open_calls(companions)) as cache, closing(open_jobs(companions)) as jobs:
            cache.accept(KEY, "m", ask("?"), REPLY)
            with psycopg.connect(postgres_server, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            assert cache.find(KEY) == REPLY
            cache.accept(OTHER, "m", ask("?"), REPLY)
            assert jobs.is_alone, "the claim is made again"

    def test_a_claim_ends_with_its_process(self, companions: Companions) -> None:
        with closing(open_jobs(companions, "here")) as one:
            with closing(open_jobs(companions, "here")) as other:
                assert one.is_running(other.server)
                assert not one.is_alone
                job = other.add("default", "index", {})
                assert one.left_behind() == []
            assert not one.is_running(other.server)
            assert one.is_alone
            (left,) = one.left_behind()
            assert left.id == job.id
            with closing(open_jobs(companions, "elsewhere")) as third:
                assert third.left_behind() == [], "its files are not there"
            assert one.adopt(left)
            assert not one.adopt(left), "another one would have it by now"
            assert one.left_behind() == []
            assert one.begin(job.id)

    def test_servers_of_one_place_run_one_job_of_a_workspace_at_a_time(
        self, companions: Companions
    ) -> None:
        with (
            closing(open_jobs(companions, "here")) as one,
            closing(open_jobs(companions, "here")) as other,
            closing(open_jobs(companions, "elsewhere")) as third,
        ):
            first, second, far = (jobs.add("default", "index", {}) for jobs in (one, other, third))
            assert len({first.id, second.id, far.id}) == 3
            assert one.begin(first.id)
            assert not other.begin(second.id)
            assert third.begin(far.id), "it has other files"
            one.set_state(first.id, JobState.FINISHED)
            assert other.begin(second.id)

    def test_a_file_companion_is_used_for_a_store_without_its_own(self, tmp_path) -> None:
        with closing(open_store("memory:")) as store:
            assert isinstance(companions_of(store), FileCompanions)
            opened = companions_of(store).open(CALLS)
            assert opened.path == ":memory:"
