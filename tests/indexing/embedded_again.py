"""Embed indexes in children that kill themselves, one for each STORE CALL WHEN on the command line.

A child dies at the call of the embedder, or the transaction, of this number. WHEN says where:
`before` or `after` a call of the embedder, or `committing`, inside a transaction. With `--again`
before them, each index is embedded again until a child comes to its end. Prints how many children
of each index died, one number a line.
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


def embed_until(path, number, when):
    """Embed an index, and kill this process at this point, if the run reaches it."""
    store = open_store(path)
    at = {} if when == "committing" else {"at": number, when: die}
    if when == "committing":
        count_transactions(store, lambda reached: reached == number and die())
    embed(store, FailingEmbedder(128, **at))
    store.close()


def is_killed(path, number, when):
    """Embed an index in a child, and return whether it was killed."""
    child = os.fork()
    if child == 0:
        embed_until(path, number, when)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status not in {0, signal.SIGKILL}:
        raise SystemExit(f"a run failed with status {status}")
    return status != 0


def main(*arguments):
    again = arguments[0] == "--again"
    points = arguments[1:] if again else arguments
    for path, number, when in zip(points[::3], points[1::3], points[2::3], strict=True):
        kills = 0
        while is_killed(path, int(number), when):
            kills += 1
            if not again:
                break
        sys.stdout.write(f"{kills}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
