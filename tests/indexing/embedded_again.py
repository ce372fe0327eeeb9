"""Embed an index as its own process; `python -m tests.indexing.embedded_again STORE CALL WHEN`.

The process kills itself at the call of the embedder, or the transaction, of this number. WHEN says
where: `before` or `after` a call of the embedder, or `committing`, inside a transaction.
"""

import os
import signal
import sys
from contextlib import contextmanager

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._extensions.upkeep.reembedding import Reembedding
from knotwork._indexing.embedding import Embedding
from knotwork._run import Run
from knotwork._stores.urls import open_store

BATCH_CHUNKS = 8


class FailingEmbedder(HashingEmbedder):
    """An embedder that calls a function before and after a call of some number."""

    def __init__(self, dimension, *, at=0, before=None, after=None):
        super().__init__(dimension)
        self.seen = []
        self._left, self._before, self._after = at, before, after

    def embed(self, texts):
        return self._counted(texts, super().embed, [*texts])

    def embed_passages(self, passages):
        return self._counted(passages, super().embed_passages, [p.text for p in passages])

    def _counted(self, asked, answer, texts):
        self._left -= 1
        if self._left == 0 and self._before:
            self._before()
        found = answer(asked)
        self.seen += texts
        if self._left == 0 and self._after:
            self._after()
        return found


def embed(store, embedder, fingerprints=None):
    run = Reembedding(
        store, Embedding(embedder), fingerprints=fingerprints, batch_chunks=BATCH_CHUNKS
    )
    return Run(run.run()).result()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def count_transactions(store, tell):
    """Call a function with the number of each transaction, at its end, before it is committed."""
    begin, number, depth = store.transaction, 0, 0

    @contextmanager
    def transaction():
        nonlocal number, depth
        with begin():
            depth += 1
            try:
                yield
            finally:
                depth -= 1
            if depth == 0:
                number += 1
                tell(number)

    store.transaction = transaction


def main(path, number, when):
    store = open_store(path)
    at = {} if when == "committing" else {"at": int(number), when: die}
    if when == "committing":
        count_transactions(store, lambda reached: reached == int(number) and die())
    embed(store, FailingEmbedder(128, **at))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
