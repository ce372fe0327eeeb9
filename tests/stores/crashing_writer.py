"""Run as a process of its own: add documents for ever, saying so after each commit."""

from __future__ import annotations

import sys
from itertools import count

from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.embedded import EmbeddedStore

NAMES = ["Ada", "Bob", "Cy", "Dee", "Eve", "Fay", "Gus"]


def names_of(number: int) -> list[str]:
    return [NAMES[number % 7], NAMES[(number + 3) % 7], f"Number {number}"]


def main(path: str) -> None:
    store = EmbeddedStore.open(path, create=True)
    for number in count(store.documents.document_count()):
        with store.transaction():
            add_document(store, f"{number}.md", names_of(number), link=True)
            if number % 5 == 4:
                store.remove_documents(
                    [store.ledger.get([f"{number - 2}.md"]).popitem()[1].document_id]
                )
                add_document(store, f"{number - 2}.md", names_of(number), link=True)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
