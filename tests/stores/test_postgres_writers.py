"""Several writers of one index give what one gives, also if they are killed or cut off."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from tests.stores.postgres_writer import WRITERS, final_names

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow

_DOCUMENTS = 20

StartProcess = Callable[..., "subprocess.Popen[bytes]"]


def expected() -> Store:
    store = open_store("memory:")
    for uri, names in final_names(_DOCUMENTS).items():
        add_document(store, uri, names, link=True)
    return store


def comparable(store: Store) -> dict[str, object]:
    """Return the contents of a store, whose scores of texts are equal up to rounding."""
    found = snapshot(store)
    texts = found.pop("texts")
    assert isinstance(texts, list)
    found["texts"] = [
        (count, sorted((scored.id, round(scored.score, 9)) for scored in ranked))
        for count, ranked in texts
    ]
    return found


def cut_one_connection(url: str) -> None:
    """End the connection of a writer in the middle of whatever it does."""
    with psycopg.connect(url.partition("&index=")[0], autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND application_name = 'knotwork' AND state LIKE '%transaction%' LIMIT 1"
        )


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))]
)
def test_writers_that_are_killed_and_cut_off_give_the_index_of_one(
    seed: int, new_index: Callable[[], str], start_process: StartProcess
) -> None:
    url = new_index()
    PostgresStore.open(url, create=True).close()
    chance = random.Random(seed)
    command = [sys.executable, str(Path(__file__).with_name("postgres_writer.py")), url]

    def start(writer: int) -> subprocess.Popen[bytes]:
        arguments = [*command, str(writer), str(_DOCUMENTS)]
        return start_process(arguments, stdout=subprocess.PIPE)

    writers = [start(writer) for writer in range(WRITERS)]
    victim = chance.randrange(WRITERS)
    output = writers[victim].stdout
    assert output is not None
    for _ in range(chance.randrange(1, _DOCUMENTS // 2)):
        output.readline()
    cut_one_connection(url)
    output.readline()
    writers[victim].kill()
    writers[victim].communicate()
    cut_one_connection(url)
    writers[victim] = start(victim)
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    store = PostgresStore.open(url, read_only=True)
    assert comparable(store) == comparable(expected())
    assert store.check() == []
    store.close()
