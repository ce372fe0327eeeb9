"""Index a folder as its own process; `python -m tests.indexing.interrupted_run STORE FOLDER MODE`.

MODE is a number: the process kills itself at that call of a function, Python's or C's, wherever
that is; `kills:SEED` does so again and again, in children, until a run comes to its end, and prints
how often; `slow` waits for a line on standard input before each passage is embedded, and prints a
line for each.
"""

import os
import random
import signal
import sys
from pathlib import Path

from tests.indexing.pipeline_fakes import CountingEmbedder, file_source, make_stages

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.run import IndexingRun
from knotwork._stores.urls import open_store
from knotwork.errors import KnotworkError


class ObedientEmbedder(CountingEmbedder):
    """Embeds a passage for each line on standard input."""

    def embed_passages(self, passages):
        sys.stdout.write("embedding\n")
        sys.stdout.flush()
        sys.stdin.readline()
        return super().embed_passages(passages)


def index(store_path, folder, embedder):
    store = open_store(store_path, create=True)
    sources = [file_source(path) for path in sorted(Path(folder).iterdir())]
    pipeline = IndexingRun(store, make_stages(embedder), batch_chunks=5, embedding_chunks=2)
    for _ in pipeline.update.run(sources, covers=lambda entry: True):
        pass
    store.close()


def die_at_call(number):
    """Arrange for this process to be killed at its call of this number."""
    left = number

    def count(frame, event, argument):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)


def index_through_kills(store_path, folder, seed):
    """Return how many children were killed before one came to the end."""
    random_ = random.Random(seed)
    kills = 0
    while True:
        # Later kills become likelier, so that every run ends and each stretch of one is struck.
        number = int(random_.uniform(1, 4_000 * (1.15**kills)))
        child = os.fork()
        if child == 0:
            die_at_call(number)
            index(store_path, folder, HashingEmbedder(16))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return kills
        if not os.WIFSIGNALED(status):
            raise SystemExit(f"a resumed run failed with status {status}")
        kills += 1


def main(store_path, folder, mode):
    if mode.startswith("kills:"):
        sys.stdout.write(f"{index_through_kills(store_path, folder, mode)}\n")
        return
    embedder = ObedientEmbedder(HashingEmbedder(16)) if mode == "slow" else HashingEmbedder(16)
    try:
        index(store_path, folder, embedder)
    except KeyboardInterrupt as interruption:
        sys.stdout.write(f"{interruption}\n")
        sys.exit(130)
    except KnotworkError as error:
        sys.stdout.write(f"{error}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main(*sys.argv[1:])
