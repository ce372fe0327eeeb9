"""Run as a process of its own: one of several writers of an index on a server.

Each adds its share of the documents, and changes some of them later. It says so after each commit,
goes on after a lost connection, and continues where a killed writer with its number has stopped.
"""

from __future__ import annotations

import sys

from knotwork._config import StoreSettings
from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import Store
from knotwork.errors import StoreBusy, StoreUnavailable
from knotwork.records import content_id

NAMES = ["Ada", "Bob", "Cy", "Dee", "Eve", "Fay", "Gus"]
WRITERS = 4


def names_of(number: int) -> list[str]:
    return [NAMES[number % 7], NAMES[(number + 3) % 7], f"Number {number % 11}"]


def final_names(documents: int) -> dict[str, list[str]]:
    """Return the names in each document once all writers are done with theirs."""
    found: dict[str, list[str]] = {}
    for writer in range(WRITERS):
        for place in range(documents):
            found[uri_of(writer, place)] = names_of(place * WRITERS + writer)
            if place % 5 == 4:
                found[uri_of(writer, place - 2)] = names_of(place * WRITERS + writer)
    return found


def uri_of(writer: int, place: int) -> str:
    return f"{writer}/{place}.md"


def write_document(store: Store, writer: int, place: int) -> None:
    """Add a document, and replace an earlier one with each fifth, in one transaction."""
    names = names_of(place * WRITERS + writer)
    with store.transaction():
        add_document(store, uri_of(writer, place), names, link=True)
        if place % 5 == 4:
            earlier = uri_of(writer, place - 2)
            store.remove_documents([content_id("document", earlier)])
            add_document(store, earlier, names, link=True)


def main(url: str, writer: int, documents: int) -> None:
    store = PostgresStore.open(url, limits=StoreSettings(pool_size=2))
    for place in range(documents):
        while not store.ledger.get([uri_of(writer, place)]):
            try:
                write_document(store, writer, place)
            except (StoreUnavailable, StoreBusy) as error:
                sys.stdout.write(f"again {type(error).__name__}\n")
            else:
                sys.stdout.write(f"{place}\n")
            sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
