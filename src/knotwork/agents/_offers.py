"""Facts that a conversation offers to remember, until somebody accepts or refuses them."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from knotwork.agents._fact_memory import RememberedFact
from knotwork.errors import NotFound

MOST_OFFERS = 32


@dataclass(frozen=True, slots=True)
class MemoryOffer:
    """Facts of a statement that nobody has asked to remember.

    ``facts`` would be stored, and ``ended`` would get an end. ``id`` accepts or refuses the offer.
    """

    statement: str
    facts: tuple[RememberedFact, ...] = ()
    ended: tuple[RememberedFact, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(8))


class OpenOffers:
    """The offers of a conversation that are still open; the oldest are dropped. Thread-safe."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, MemoryOffer] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, offer: MemoryOffer) -> None:
        """Keep an offer open. One with the same facts is replaced."""
        with self._lock:
            for known in [k for k in self._open.values() if k.statement == offer.statement]:
                del self._open[known.id]
            self._open[offer.id] = offer
            while len(self._open) > MOST_OFFERS:
                self._open.popitem(last=False)

    def take(self, identifier: str = "") -> MemoryOffer:
        """Remove and return an offer, by default the last one. Raises NotFound."""
        with self._lock:
            key = identifier or next(reversed(self._open), "")
            offer = self._open.pop(key, None)
        if offer is None:
            what = f"There is no open offer `{identifier}`." if identifier else "No offer is open."
            raise NotFound(what, fix="State the fact again, or begin with: Remember that …")
        return offer

    def clear(self) -> None:
        """Drop all offers."""
        with self._lock:
            self._open.clear()

    def open(self) -> tuple[MemoryOffer, ...]:
        """Return the open offers, oldest first."""
        with self._lock:
            return tuple(self._open.values())
