"""The memory of each key of a server: its facts in a workspace, and its open offers.

Facts belong to the id of a key, so that no key reads or changes those of another. Without keys, all
requests come from the user of this machine, who has the facts of `knotwork chat` too. Offers last
until the server ends.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from knotwork._companions import open_to_read
from knotwork._extensions.agents.chat import Conversation, OpenOffers, local_now
from knotwork._extensions.agents.fact_memory import FACTS, FactMemory
from knotwork._extensions.server.keys import AccessKey
from knotwork._extensions.server.workspaces import Workspace
from knotwork._stores.base import companions_of
from knotwork._synthesis.ask_request import AskRequest
from knotwork._synthesis.follow_ups import index_names
from knotwork.errors import Conflict

MOST_FACTS = 10_000
"""The most facts of one key in a workspace."""

MOST_KEYS_WITH_OFFERS = 1_000
"""Keys and workspaces with open offers; those that were not used for longest lose theirs."""


@contextmanager
def stored_facts(workspace: Workspace, key: AccessKey) -> Iterator[FactMemory]:
    """Open the facts of a key to change them. Raises StoreError as `FactMemory`."""
    facts = companions_of(workspace.base.store).open(FACTS)
    with closing(FactMemory(facts, owner=key.id)) as memory:
        yield memory


@contextmanager
def known_facts(workspace: Workspace, key: AccessKey) -> Iterator[FactMemory]:
    """Open the facts of a key to read them, without creating their file."""
    facts = open_to_read(companions_of(workspace.base.store), FACTS)
    with closing(FactMemory(facts, owner=key.id)) as memory:
        yield memory


@contextmanager
def recalling(key: AccessKey, workspace: Workspace, request: AskRequest) -> Iterator[AskRequest]:
    """Give a request the facts of a key, which are searched before the documents; store none."""
    with known_facts(workspace, key) as memory:
        names = index_names(workspace.base.store)
        conversation = Conversation(memory, now=local_now, names=names)
        yield replace(request, recall=conversation.cite)


def check_room(memory: FactMemory) -> None:
    """Raise Conflict if a key has as many facts as it may."""
    if memory.count() >= MOST_FACTS:
        raise Conflict(
            f"The memory of this key is full: it has {MOST_FACTS:,} facts in this workspace.",
            fix="Delete facts that you no longer need.",
        )


class OffersOfKeys:
    """The open offers of all keys, in each workspace. Thread-safe."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, str], OpenOffers] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, workspace: str, key: AccessKey) -> OpenOffers:
        """Return the offers of a key in a workspace."""
        with self._lock:
            place = (workspace, key.id)
            offers = self._open.setdefault(place, OpenOffers())
            self._open.move_to_end(place)
            while len(self._open) > MOST_KEYS_WITH_OFFERS:
                self._open.popitem(last=False)
            return offers

    def forget(self, workspace: str) -> None:
        """Drop all offers of a workspace."""
        with self._lock:
            for place in [place for place in self._open if place[0] == workspace]:
                del self._open[place]
