"""Fixtures of the tests of indexing."""

from hashlib import blake2b

import pytest

import knotwork
from knotwork._extensions.media import text_recognition


@pytest.fixture(scope="session", autouse=True)
def _recognised_once():
    """Recognise each picture once for all tests of this process: many draw the same ones."""
    found = {}
    engine = text_recognition._engine

    def remembering():
        def read(pixels):
            key = (pixels.shape, blake2b(pixels.tobytes()).digest())
            if key not in found:
                found[key] = engine()(pixels)
            return found[key]

        return read

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_recognition, "_engine", remembering)
        yield


@pytest.fixture
def opened(tmp_path):
    """Open knowledge bases that read in this process, without an embedder, and close them."""
    bases = []

    def open_with(model=None, *, path="index.knot", **settings):
        wanted = {"embedding_model": "none", "index_workers": 0, **settings}
        kb = knotwork.open(tmp_path / path, chat_model=model, **wanted)
        bases.append(kb)
        return kb

    yield open_with
    for kb in bases:
        kb.close()
