"""Index small files through the public door, and ask them."""

from contextlib import contextmanager

import knotwork
from knotwork._extensions.testing.loader_contract import check_blocks
from knotwork._indexing.loaders.loader_registry import load_file


def read(name, data):
    """Return the document that a loader makes of a file."""
    document = load_file(data if isinstance(data, bytes) else data.encode(), uri=name)
    check_blocks(document)
    return document


@contextmanager
def index_of(folder, files):
    """Open an index of some files, given as contents by path, with the models of a user."""
    for name, data in files.items():
        place = folder / "files" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data if isinstance(data, bytes) else data.encode())
    with knotwork.open(folder / "index.knot") as kb:
        kb.index(folder / "files")
        yield kb


def ask(folder, files, *questions):
    """Return the text of the answer to each question."""
    with index_of(folder, files) as kb:
        return [kb.ask(question).text for question in questions]
