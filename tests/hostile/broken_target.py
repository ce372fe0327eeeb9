"""A target that fails in every way, to test the search."""

from __future__ import annotations

import os
from collections.abc import Iterator

from hypothesis import strategies as st
from tests.hostile.targets import Target

from knotwork.errors import ConfigError


def _fail(data: bytes) -> None:
    match data[:1]:
        case b"e":
            raise ZeroDivisionError(data)
        case b"s":
            while True:
                pass
        case b"m":
            bytearray(1_000_000_000)
        case b"c":
            os.abort()
        case b"k":
            raise ConfigError("A known error.")


def targets() -> Iterator[Target]:
    """Yield the broken target."""
    inputs = st.sampled_from([*(b"e", b"s", b"m", b"k", b"x") * 5, b"c"])
    yield Target("broken", inputs, _fail, seconds=0.2, megabytes=100)
