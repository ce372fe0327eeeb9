"""A process that commits documents until it is stopped: `python backed_up_writer.py INDEX`."""

import sys
from itertools import count
from pathlib import Path

from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.embedded import EmbeddedStore

store = EmbeddedStore.open(Path(sys.argv[1]), busy_timeout_s=60)
for number in count():
    with store.transaction():
        add_document(
            store, f"{number:05}.md", [f"Person {number} meets Ada {n}." for n in range(4)]
        )
        store.set_meta({"documents": str(store.documents.document_count())})
    sys.stdout.write(f"{store.generation()}\n")
    sys.stdout.flush()
