"""The call cache: accepted and rejected replies, and errors of files that cannot be used."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.chat_fakes import ask
from tests.stores.raw_files import change

from knotwork._inference.call_cache import MIGRATIONS, CallCache, RejectedReply
from knotwork._inference.chat import ChatReply, TokenUsage
from knotwork._sqlite_file import Migration
from knotwork.errors import SchemaMismatch, StoreBusy, StoreError, StoreNotFound, StoreReadOnly

KEY = b"k" * 16
REPLY = ChatReply("Tallinn", "stop", TokenUsage(10, 3, 1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.knot.calls"


@pytest.fixture
def cache(path):
    cache = CallCache(path)
    yield cache
    cache.close()


def test_a_kept_reply_is_there_after_opening_again(cache, path):
    cache.accept(KEY, "m", ask("?"), REPLY)
    cache.close()
    again = CallCache(path)
    assert again.find(KEY) == REPLY
    assert again.find(b"x" * 16) is None
    assert again.check() == []
    again.close()


@given(
    st.text(st.characters(), max_size=20),
    st.sampled_from(["stop", "length", "filter"]),
    st.text(st.characters(), max_size=5),
)
def test_any_text_is_kept_as_it_is(text, finish_reason, name):
    cache = CallCache(":memory:")
    reply = ChatReply(text, finish_reason, TokenUsage(1, 2, 3))
    request = ask(text, stage=name, source=name)
    cache.accept(KEY, name, request, reply)
    cache.reject(b"x" * 16, name, request, reply, name)
    assert cache.find(KEY) == reply
    (rejected,) = cache.rejected()
    assert rejected.text == text
    assert cache.forget([name]) == 2
    cache.close()


def test_the_first_kept_reply_stays(cache):
    cache.accept(KEY, "m", ask("?"), REPLY)
    cache.accept(KEY, "m", ask("?"), ChatReply("Tartu", usage=TokenUsage(10, 2, 1)))
    cache.reject(KEY, "m", ask("?"), ChatReply("…", usage=TokenUsage(10, 1, 1)), "bad")
    assert cache.find(KEY) == REPLY
    assert cache.rejected() == []
    total = cache.total()
    assert total.usage == TokenUsage(30, 6, 3)
    assert total.rejected == 1


def test_rejected_replies_are_apart_with_the_reason_until_a_good_one_comes(cache):
    request = ask("?", stage="extract", source="a.md")
    for text in ("one", "two"):
        cache.reject(KEY, "m", request, ChatReply(text, "length", REPLY.usage), f"no {text}")
    listed = RejectedReply("extract", "a.md", "m", "no two", "two", "length", 2)
    assert cache.find(KEY) == listed
    assert cache.rejected() == [listed]
    cache.accept(KEY, "m", request, REPLY)
    assert cache.find(KEY) == REPLY
    assert cache.rejected() == []


def test_forgetting_a_document_deletes_its_replies_and_keeps_the_account(cache):
    cache.accept(KEY, "m", ask("?", source="a.md"), REPLY)
    cache.reject(b"r" * 16, "m", ask("?", source="a.md"), REPLY, "bad")
    cache.accept(b"o" * 16, "m", ask("?", source="b.md"), REPLY)
    assert cache.forget(["a.md", "absent.md"]) == 2
    assert cache.find(KEY) is None
    assert cache.rejected() == []
    assert cache.reply_count() == 1
    assert cache.total().usage.calls == 3


def flip_reply(path):
    change(path, "UPDATE reply SET text = CAST('Tartu!!' AS BLOB)")


def test_a_reply_that_changed_in_the_file_is_not_served(cache, path):
    cache.accept(KEY, "m", ask("?"), REPLY)
    flip_reply(path)
    with pytest.raises(StoreError, match="damaged") as caught:
        cache.find(KEY)
    assert str(path) in caught.value.message
    assert "move it away" in caught.value.fix
    assert cache.check() == ["1 of 1 replies do not match their checksums"]


def test_a_file_with_garbage_in_it_is_refused_and_left_alone(path):
    cache = CallCache(path)
    for number in range(200):
        cache.accept(bytes([number]) * 16, "m", ask("?"), ChatReply("x" * 500))
    cache.close()
    whole = path.read_bytes()
    broken = whole[:4_096] + b"\xa5" * (len(whole) - 4_096)
    path.write_bytes(broken)
    with pytest.raises(StoreError, match="damaged") as caught:
        use(path)
    assert "move it away" in caught.value.fix
    assert path.read_bytes()[4_096:] == broken[4_096:]


def use(path):
    cache = CallCache(path)
    try:
        cache.find(KEY)
        cache.accept(KEY, "m", ask("?"), REPLY)
    finally:
        cache.close()


def test_files_of_others_are_refused_unchanged(path, tmp_path):
    path.write_text("my notes", encoding="utf-8")
    with pytest.raises(SchemaMismatch, match="not a call cache"):
        CallCache(path)
    assert path.read_text(encoding="utf-8") == "my notes"
    other = tmp_path / "other.db"
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE notes (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(SchemaMismatch, match="not a call cache"):
        CallCache(other)
    assert other.read_bytes() == before
    with pytest.raises(SchemaMismatch, match="folder"):
        CallCache(tmp_path)
    with pytest.raises(StoreNotFound, match="does not exist"):
        CallCache(tmp_path / "absent" / "x.calls")


def test_a_later_version_is_refused_and_an_earlier_one_brought_up_to_date(path):
    later = (*MIGRATIONS, Migration("0002-later", "CREATE TABLE later (x)"))
    CallCache(path).close()
    database = CallCache(path, migrations=later)
    assert database.rows("SELECT * FROM later") == []
    database.close()
    with pytest.raises(SchemaMismatch, match="0002-later"):
        CallCache(path)


def test_a_migration_is_whole_or_not_at_all(path):
    broken = (*MIGRATIONS, Migration("0002-broken", "CREATE TABLE half (x); SELECT nonsense;"))
    with pytest.raises(StoreError):
        CallCache(path, migrations=broken)
    database = CallCache(path)
    with pytest.raises(StoreError, match="no such table"):
        database.rows("SELECT * FROM half")
    database.close()


def test_a_full_disk_is_reported_and_what_was_kept_stays(cache):
    cache.accept(KEY, "m", ask("?"), REPLY)
    connection = cache._tables._connection()
    connection.pragma("max_page_count", connection.pragma("page_count") + 1)
    with pytest.raises(StoreError, match="disk is full") as caught:
        cache.accept(b"x" * 16, "m", ask("?"), ChatReply("x" * 100_000, usage=REPLY.usage))
    assert "not repeated" in caught.value.fix
    assert cache.find(KEY) == REPLY
    assert cache.find(b"x" * 16) is None
    assert cache.total().usage == REPLY.usage
    connection.pragma("max_page_count", 1 << 30)
    cache.accept(b"x" * 16, "m", ask("?"), REPLY)
    assert cache.reply_count() == 2


def test_a_writer_that_does_not_end_is_named(path):
    cache = CallCache(path, busy_timeout_s=0.01)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="waited"):
        cache.accept(KEY, "m", ask("?"), REPLY)
    assert cache.find(KEY) is None  # reading goes on
    other.execute("ROLLBACK")
    cache.accept(KEY, "m", ask("?"), REPLY)
    other.close()
    cache.close()


def test_a_file_that_may_not_be_written_is_reported(path, monkeypatch):
    CallCache(path).close()
    monkeypatch.setattr("knotwork._companions.READ_WRITE", apsw.SQLITE_OPEN_READONLY)
    cache = CallCache(path)
    with pytest.raises(StoreReadOnly, match="is not writable") as caught:
        cache.accept(KEY, "m", ask("?"), REPLY)
    assert "use another file" in caught.value.fix
    cache.close()


def test_a_closed_file_is_reported(cache):
    cache.close()
    with pytest.raises(StoreError, match="is closed"):
        cache.find(KEY)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_its_own_connection(cache):
    cache.accept(KEY, "m", ask("?"), REPLY)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if cache.find(KEY) == REPLY:
                cache.accept(b"c" * 16, "m", ask("?"), REPLY)
                status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert cache.find(b"c" * 16) == REPLY
    assert cache.check() == []


def write_of(value):
    return lambda tables: tables.change("INSERT INTO thing VALUES ($1)", (value,))


@pytest.fixture
def database(path):
    things = Migration("things", "CREATE TABLE thing (value NOT NULL)")
    database = CallCache(path, migrations=[*MIGRATIONS, things])
    yield database
    database.close()


def things_of(database):
    return sorted(value for (value,) in database.rows("SELECT value FROM thing"))


def commits_of(database):
    """Have the commits of a database counted, in the list that is returned."""
    commits = []
    database._tables._connection().set_commit_hook(lambda: bool(commits.append(1)))
    return commits


def write_together(database, *works):
    """Write from as many threads at once; return what each raised, or None."""
    with ThreadPoolExecutor(len(works)) as pool:
        with database._lock:
            writing = [pool.submit(database.write, work) for work in works]
            while len(database._queue) < len(works):
                pass
        return [one.exception() for one in writing]


def test_simultaneous_writes_of_threads_are_committed_together(database):
    commits = commits_of(database)
    assert write_together(database, *map(write_of, range(8))) == [None] * 8
    assert things_of(database) == list(range(8))
    assert len(commits) == 1
    database.write(write_of(8))
    assert len(commits) == 2


def test_a_document_that_cannot_be_written_fails_alone(database):
    def refuse(connection):
        write_of("half")(connection)
        raise StoreError("no")

    errors = write_together(database, write_of(1), refuse, write_of(2), write_of(None))
    assert [type(error) for error in errors] == [type(None), StoreError, type(None), StoreError]
    assert things_of(database) == [1, 2]


def test_ctrl_c_in_one_thread_leaves_their_writing_to_the_others(database):
    def interrupt(connection):
        stopped.append(1)
        if len(stopped) == 1:
            raise KeyboardInterrupt
        write_of(3)(connection)

    stopped = []
    errors = write_together(database, write_of(1), interrupt, write_of(2))
    assert [type(error) for error in errors].count(KeyboardInterrupt) == 1
    assert things_of(database) == [1, 2, 3]
