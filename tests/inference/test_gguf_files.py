import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.local_models.gguf_server import read_context_length
from knotwork.errors import ConfigError


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def head(*entries, version=3, count=None):
    keys = len(entries) if count is None else count
    return b"GGUF" + struct.pack("<IQQ", version, 7, keys) + b"".join(entries)


ARCHITECTURE = text("general.architecture") + struct.pack("<I", 8) + text("llama")
LENGTH = text("llama.context_length") + struct.pack("<II", 4, 8_192)
TOKENS = text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
SCORES = text("scores") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<ff", 1, 2)


@pytest.mark.parametrize(
    ("content", "length"),
    [
        (head(ARCHITECTURE, LENGTH), 8_192),
        (head(LENGTH, TOKENS, SCORES, ARCHITECTURE), 8_192),
        (head(ARCHITECTURE, LENGTH, version=2) + b"rest", 8_192),
        (head(ARCHITECTURE, TOKENS, SCORES), 0),
        (head(LENGTH), 0),
    ],
)
def test_the_length_is_found_wherever_it_stands(tmp_path, content, length):
    (tmp_path / "model.gguf").write_bytes(content)
    assert read_context_length(tmp_path / "model.gguf") == length


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "ends too early"),
        (b"PK\x03\x04 and more", "does not begin with GGUF"),
        (head(version=1), "its version is 1, not 2 or 3"),
        (head(ARCHITECTURE, LENGTH)[:-1], "ends too early"),
        (head(count=1 << 40), "its head has"),
        (head(struct.pack("<Q", 1 << 60)), "a string has"),
        (head(text("x") + struct.pack("<I", 77)), "unknown type 77"),
        (head(text("x") + struct.pack("<IIQ", 9, 9, 1)), "unknown type 9"),
        (head(text("x") + struct.pack("<IIQ", 9, 8, 1 << 60)), "ends too early"),
        (head(text("x") + struct.pack("<IIQ", 9, 4, 1 << 40), TOKENS), "ends too early"),
    ],
)
def test_a_malformed_head_is_named(tmp_path, content, reason):
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(ConfigError, match=reason):
        read_context_length(tmp_path / "model.gguf")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        read_context_length(tmp_path / "model.gguf")


@given(st.binary(max_size=200))
def test_any_bytes_give_a_length_or_an_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    path.write_bytes(head(ARCHITECTURE, content, count=3))
    with suppress(ConfigError):
        assert read_context_length(path) >= 0
