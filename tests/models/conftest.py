"""A real language model of 135 million parameters, too small to follow most instructions.

`python3 -m nox -s models` fetches it; TEST_GGUF may name another model file.
"""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_file():
    path = Path(os.environ.get("TEST_GGUF", ""))
    if not path.is_file():
        pytest.skip("TEST_GGUF names no model file: run python3 -m nox -s models")
    return path


@pytest.fixture(scope="session")
def whisper_model():
    path = Path(os.environ.get("TEST_WHISPER", ""))
    if not (path / "model.bin").is_file():
        pytest.skip("TEST_WHISPER names no model of speech: run python3 -m nox -s models")
    return path
