"""A writer that is killed leaves the index on a server as it was after one of its commits."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stores.postgres_writer import names_of, uri_of
from tests.stores.test_postgres_writers import comparable

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow

_MANY = 10_000


def expected_after(documents: int) -> Store:
    """Return what the first writer has written once it added so many documents."""
    final: dict[str, list[str]] = {}
    for place in range(documents):
        final[uri_of(0, place)] = names_of(place * 4)
        if place % 5 == 4:
            final[uri_of(0, place - 2)] = names_of(place * 4)
    store = open_store("memory:")
    for uri, names in final.items():
        add_document(store, uri, names, link=True)
    return store


@pytest.mark.parametrize("kills", [2, pytest.param(5, marks=pytest.mark.nightly)])
def test_killed_writers_lose_nothing_they_acknowledged_and_leave_nothing_half(
    kills: int, new_index: Callable[[], str], start_process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    url = new_index()
    reader = PostgresStore.open(url, create=True)
    chance = random.Random(11)
    command = [sys.executable, str(Path(__file__).with_name("postgres_writer.py")), url]
    for _ in range(kills):
        writer = start_process([*command, "0", str(_MANY)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(chance.randint(1, 6))]
        writer.kill()
        rest, _ = writer.communicate()
        last = max([*acknowledged, *map(int, rest.split(b"\n")[:-1])])
        documents = reader.documents.document_count()
        assert documents in (last + 1, last + 2)
        assert comparable(reader) == comparable(expected_after(documents))
    reader.close()
