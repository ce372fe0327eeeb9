"""A server takes every statement that SQL databases share."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from tests.stores.test_sql_statements import statements

from knotwork._extensions.postgres.database import postgres_text
from knotwork._extensions.postgres.store import PostgresStore

pytestmark = pytest.mark.slow


def test_every_shared_statement_is_one_of_postgresql(new_index: Callable[[], str]) -> None:
    url = new_index()
    store = PostgresStore.open(url, create=True)
    refused: list[str] = []
    with psycopg.connect(url.partition("&index=")[0], autocommit=True) as connection:
        connection.execute(f"SET search_path = {store._database.schema}, public")
        all_statements = dict(statements(postgres_text))
        for number, (name, statement) in enumerate(all_statements.items()):
            try:
                connection.execute(f"PREPARE statement_{number} AS {statement}")
            except psycopg.Error as error:
                refused.append(f"{name}: {error}")
    store.close()
    assert refused == []
    assert len(all_statements) > 100
