"""Which documents a language model reads, and how the ledger says so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knotwork.stores.base import LedgerEntry

_READ = "read "
_PENDING = "pending "


class Tier(StrEnum):
    """How much of an index a language model makes."""

    NONE = "none"
    """Nothing: rules and statistics."""
    LEAN = "lean"
    """What rules cannot do, when it is needed: doubtful names, reports for a question, answers."""
    FULL = "full"
    """It reads every chunk, and writes descriptions and reports ahead of time."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """Tells by the ledger whether a document is to be read by a model, and whether it was.

    ``plain`` is the fingerprint of all that shapes an index without a model, ``read`` of what
    shapes a model's reading beside it. Neither holds the model or the wording of its prompts: a
    document that was paid for is not read again until it changes. A document that was read once
    stays so (``keeps_read``), unless another tier was asked for; ``reads_new`` has all of them
    read.
    """

    plain: str
    read: str = ""
    has_model: bool = False
    reads_new: bool = False
    keeps_read: bool = True

    def wants_model(self, entry: LedgerEntry | None) -> bool:
        """Tell whether a document should be read by a model, be there one or not."""
        if self.reads_new:
            return True
        marked = entry is not None and entry.settings.startswith((_READ, _PENDING))
        return self.keeps_read and marked

    def is_current(self, entry: LedgerEntry) -> bool:
        """Tell whether a document was indexed as it would be now."""
        wanted = self.wants_model(entry)
        if wanted and not self.has_model and entry.settings == self.settings(wanted, read=False):
            return True  # nothing better can be done today
        return entry.settings == self.settings(wanted, read=wanted)

    def settings(self, wanted: bool, *, read: bool) -> str:
        """Return what the ledger says of a document: whether a model should, and did, read it."""
        if not wanted:
            return self.plain
        return f"{_READ}{self.plain} {self.read}" if read else f"{_PENDING}{self.plain}"


def with_fingerprint(settings: str, old: str, new: str) -> str:
    """Return what the ledger says of a document, with one plain fingerprint replaced by another."""
    head, mark = "", settings
    for prefix in (_READ, _PENDING):
        if settings.startswith(prefix):
            head, mark = prefix, settings.removeprefix(prefix)
    mark, space, rest = mark.partition(" ")
    return f"{head}{new}{space}{rest}" if mark == old else settings
