"""Keep the refused uploads of a workspace, and the failures that a person has dismissed."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from knotwork._extensions.server.private_files import read_object, write_object
from knotwork._stores.base import LedgerEntry

_MOST_REFUSED = 1_000


class Attention:
    """The refused uploads of a workspace and the failures that were dismissed. Thread-safe.

    They are a file in the folder of the workspace, so that they last over restarts.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "attention.json"
        self._lock = threading.Lock()

    def refused(self) -> list[dict[str, Any]]:
        """Return the refused uploads, the newest first: ``uri``, ``changed``, ``error_reason``,
        ``error`` and ``fix`` of each.
        """
        found: list[dict[str, Any]] = self._read()["refused"]
        return found

    def dismissed(self) -> dict[str, list[Any]]:
        """Return what was dismissed: the version of each file (`version_of`) by its uri."""
        found: dict[str, list[Any]] = self._read()["dismissed"]
        return found

    def note(self, stored: Collection[str], refused: Mapping[str, Mapping[str, Any]]) -> None:
        """Record an upload: the uris that were stored, and what was refused by uri."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        new = [
            {
                "uri": uri,
                "changed": now,
                "error_reason": file["reason"],
                "error": file["message"],
                "fix": file["fix"],
            }
            for uri, file in refused.items()
        ]
        with self._lock:
            found = self._read()
            gone = {*stored, *refused}
            kept = [file for file in found["refused"] if file["uri"] not in gone]
            if new or len(kept) < len(found["refused"]):
                self._write({**found, "refused": [*new, *kept][:_MOST_REFUSED]})

    def dismiss(self, uris: Collection[str], failed: Iterable[LedgerEntry]) -> None:
        """Forget refused uploads, and set failures aside until their files change."""
        with self._lock:
            found = self._read()
            versions = {entry.uri: version_of(entry) for entry in failed}
            kept = [file for file in found["refused"] if file["uri"] not in uris]
            self._write({"refused": kept, "dismissed": {**found["dismissed"], **versions}})

    def _read(self) -> dict[str, Any]:
        found = read_object(self._path)
        return {"refused": found.get("refused", []), "dismissed": found.get("dismissed", {})}

    def _write(self, found: Mapping[str, Any]) -> None:
        write_object(self._path, found)


def version_of(entry: LedgerEntry) -> list[Any]:
    """Return what changes when a file that failed changes, or fails for another reason."""
    return [entry.error_reason, entry.size, entry.modified_ns]
