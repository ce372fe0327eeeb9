"""Copy a part as a worker process receives it."""

from __future__ import annotations

import pickle
from typing import TypeVar

T = TypeVar("T")


def worker_copy(part: T) -> T:
    """Return a part, or its result, as another process receives it.

    Raises PicklingError, AttributeError or TypeError if it holds what cannot be sent.
    """
    copy: T = pickle.loads(pickle.dumps(part))  # noqa: S301 - it was written here
    return copy
