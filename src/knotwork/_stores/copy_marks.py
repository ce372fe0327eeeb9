"""The mark of a store that is an unfinished copy of another one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from shlex import quote

from knotwork._stores.base import Store
from knotwork.errors import StoreError

COPY_META = "copy"
"""The setting that holds the mark. It is never copied or hashed."""

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class CopyMark:
    """How far a copy is: the part, and the key of the last item in it."""

    source: str
    generation: int
    without: tuple[str, ...]
    part: str = ""
    after: str = ""
    done: int = 0


def require_finished(store: Store) -> None:
    """Raise StoreError if a store is an unfinished copy of another one."""
    mark = read_mark(store)
    if mark is not None:
        raise StoreError(
            f"`{store.url}` is an unfinished copy of `{mark.source}`.",
            fix=f"Finish it with: knotwork copy {quote(mark.source)} {quote(store.url)}",
        )


def read_mark(store: Store) -> CopyMark | None:
    """Return the mark of an unfinished copy; None for any other store."""
    text = store.meta().get(COPY_META, "")
    if not text:
        return None
    try:
        found = json.loads(text)
        if found.pop("format") == _FORMAT:
            return CopyMark(**{**found, "without": tuple(found["without"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(store) from error
    raise _unreadable(store)


def _unreadable(store: Store) -> StoreError:
    return StoreError(
        f"`{store.url}` is an unfinished copy with a mark that this version cannot read.",
        fix="Finish it with the version that began it, or delete it and copy again.",
    )


def write_mark(store: Store, mark: CopyMark | None) -> None:
    """Replace the mark of a store, or remove it."""
    text = "" if mark is None else json.dumps({"format": _FORMAT, **asdict(mark)})
    store.set_meta({COPY_META: text})
