"""Cost and correctness of the check whether communities are up to date."""

import subprocess
import sys

import pytest
from tests.indexing.communities.worlds import all_documents, make_index

import knotwork
from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current
from knotwork._stores.embedded.store import EmbeddedStore
from knotwork.records import Document

pytestmark = pytest.mark.slow


class Reads:
    """Counts the statements that this thread runs on an index file, and the rows they return."""

    def __init__(self, store):
        self.statements = self.rows = 0
        self._connection = store._database.connection()

    def __enter__(self):
        self._connection.exec_trace = self._count_statement
        self._connection.row_trace = self._count_row
        return self

    def __exit__(self, *_):
        self._connection.exec_trace = self._connection.row_trace = None

    def _count_statement(self, *_):
        self.statements += 1
        return True

    def _count_row(self, _, row):
        self.rows += 1
        return row


def remove_and_fail(store, entry):
    """Remove a ledger entry, check, and raise to roll the transaction back."""
    store.ledger.remove([entry.uri])
    assert not is_current(store)
    raise KeyError(entry.uri)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.knot"


def reads_of_check(path, documents):
    """Return what the second check of a current index reads: (statements, rows)."""
    with make_index(documents, path) as base:
        base.communities.update()
        assert base.communities.is_current()
        with Reads(base.store) as reads:
            assert base.communities.is_current()
        return reads.statements, reads.rows


def test_a_repeated_check_reads_as_much_of_a_large_index_as_of_a_small_one(tmp_path):
    notes = [Document(f"note-{n}.txt", f"Note {n} is about Gull Lighthouse.") for n in range(300)]
    few = reads_of_check(tmp_path / "few.knot", all_documents())
    many = reads_of_check(tmp_path / "many.knot", [*all_documents(), *notes])
    assert many == few
    assert few[0] <= 2
    assert few[1] <= 20


def test_an_index_without_communities_is_checked_without_reading_its_ledger(path):
    with make_index(all_documents(), path) as base, Reads(base.store) as reads:
        assert not base.communities.is_current()
    assert reads.statements == 1


def test_a_write_through_another_connection_is_noticed(path):
    with make_index(all_documents(), path) as base, knotwork.open(path) as other:
        base.communities.update()
        assert base.communities.is_current()
        assert other.communities.is_current()
        other.index_documents([Document("more.txt", "Gull Lighthouse stands by Alden Pier.")])
        assert not base.communities.is_current()
        assert not other.communities.is_current()
        other.communities.update()
        assert base.communities.is_current()


def test_a_write_by_another_process_is_noticed(path):
    script = f"""
import knotwork
from knotwork.records import Document
with knotwork.open({str(path)!r}, embedding_model="none") as base:
    base.index_documents([Document("more.txt", "Gull Lighthouse stands by Alden Pier.")])
"""
    with make_index(all_documents(), path) as base:
        base.communities.update()
        assert base.communities.is_current()
        subprocess.run([sys.executable, "-c", script], check=True)
        assert not base.communities.is_current()


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_transaction_sees_its_own_changes_and_leaves_nothing_behind(path, kind):
    with make_index(all_documents(), "memory:" if kind == "memory" else path) as base:
        store = base.store
        bring_up_to_date(store)
        assert is_current(store)
        entry = next(iter(store.ledger.entries()))
        with store.transaction():
            store.ledger.remove([entry.uri])
            assert not is_current(store)
            store.ledger.put([entry])
            assert is_current(store)
        with pytest.raises(KeyError), store.transaction():
            remove_and_fail(store, entry)
        assert is_current(store)


def test_a_restored_ledger_makes_communities_current_again(path):
    with make_index(all_documents(), path) as base:
        bring_up_to_date(base.store)
        entry = next(iter(base.store.ledger.entries()))
        base.store.ledger.remove([entry.uri])
        assert not is_current(base.store)
        base.store.ledger.put([entry])
        assert is_current(base.store)


def test_two_stores_of_one_file_do_not_share_their_answers(path):
    with make_index(all_documents(), path) as base:
        bring_up_to_date(base.store)
    one, other = EmbeddedStore.open(path), EmbeddedStore.open(path)
    assert is_current(one)
    other.ledger.remove([next(iter(other.ledger.entries())).uri])
    assert not is_current(one)
    assert not is_current(other)
    one.close()
    other.close()
