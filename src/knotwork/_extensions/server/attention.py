"""Keep the refused uploads of a workspace, and the failures that a person has dismissed."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from knotwork._extensions.server.private_files import PrivateJson
from knotwork._stores.base import LedgerEntry

_MOST_REFUSED = 1_000


class Attention:
    """The refused uploads of a workspace and the failures that were dismissed. Thread-safe.

    They are a file in the folder of the workspace, so that they last over restarts.
    """

    def __init__(self, folder: Path) -> None:
        self._file = PrivateJson(folder / "attention.json")
        self._lock = threading.Lock()

    def refused(self) -> list[dict[str, Any]]:
        """Return the refused uploads, the newest first: ``uri``, ``changed``, ``error_reason``,
        ``error`` and ``fix`` of each.
        """
        return list(self._file.read().get("refused", ()))

    def dismissed(self) -> dict[str, list[Any]]:
        """Return what was dismissed: the version of each file (`version_of`) by its uri."""
        return dict(self._file.read().get("dismissed", ()))

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
        self._change({*stored, *refused}, new, {})

    def dismiss(self, uris: Collection[str], failed: Iterable[LedgerEntry]) -> None:
        """Forget refused uploads, and set failures aside until their files change."""
        self._change(uris, [], {entry.uri: version_of(entry) for entry in failed})

    def _change(
        self, gone: Collection[str], new: list[dict[str, Any]], dismissed: Mapping[str, Any]
    ) -> None:
        """Forget the refusal of some uris, and add others and what was dismissed."""
        with self._lock:
            before, known = self.refused(), self.dismissed()
            kept = [*new, *(file for file in before if file["uri"] not in gone)][:_MOST_REFUSED]
            if kept != before or dismissed:
                self._file.write({"refused": kept, "dismissed": {**known, **dismissed}})


def version_of(entry: LedgerEntry) -> list[Any]:
    """Return what changes when a file that failed changes, or fails for another reason."""
    return [entry.error_reason, entry.size, entry.modified_ns]
