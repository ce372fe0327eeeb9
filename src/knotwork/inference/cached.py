"""A chat model that never asks twice: replies are kept once checked, and before they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from knotwork.errors import Unparsable
from knotwork.inference.call_cache import CallCache, RejectedReply
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, TokenUsage
from knotwork.inference.checked import is_whole, parse_reply
from knotwork.inference.keys import call_key
from knotwork.inference.metered import UsageMeter

T = TypeVar("T")

_Keep = Callable[[bytes, ChatRequest, ChatReply], T]


class CachedChatModel:
    """Wraps a chat model with a cache, its ledger and a meter; implements `ChatModel`.

    A kept reply is served again with a usage of ``TokenUsage(reused=1)``: it cost no tokens now.
    A reply that was rejected is never served: its reason is raised again as Unparsable, without a
    call, unless ``retry_rejected``. Equal requests at the same time make one call; so they do
    among processes. Give this the budget and the limits inside: what is kept needs neither.
    """

    def __init__(
        self,
        model: ChatModel,
        cache: CallCache,
        *,
        meter: UsageMeter | None = None,
        retry_rejected: bool = False,
    ) -> None:
        self._model = model
        self._cache = cache
        self._meter = meter or UsageMeter()
        self._retry_rejected = retry_rejected

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def meter(self) -> UsageMeter:
        """What went through this model: calls and reuses of this run."""
        return self._meter

    def is_kept(self, request: ChatRequest) -> bool:
        """Tell whether the reply to a request is kept, so that asking costs nothing."""
        return isinstance(self._cache.find(call_key(self.name, request)), ChatReply)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply; it is kept if it is whole: neither cut off nor empty."""
        return self._obtain(request, lambda reply: reply, self._keep_whole)

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the reply, which is kept if ``parse`` returns.

        ``parse`` must have no other effect, as it sees kept replies each time. Raises Unparsable,
        with the reply's text, where ``parse`` did, now or in an earlier run; else as
        `ChatModel.complete`. A kept reply that ``parse`` refuses, as it was made stricter since, is
        taken out of use.
        """
        return self._obtain(request, parse, partial(self._keep_parsed, parse=parse))

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply piece by piece, then whole; a kept one comes in one piece.

        It is kept before the whole reply is yielded. A stream that is left early keeps nothing,
        and its cost is not known to the ledger.
        """
        yield from self._stream(request, lambda reply: reply, self._keep_whole)

    def stream_checked(
        self, request: ChatRequest, parse: Callable[[ChatReply], T]
    ) -> Iterator[str | T]:
        """Yield the reply piece by piece, then what ``parse`` makes of it, which decides if it is
        kept as in `complete_checked`; raises as that does, a known rejection before any piece.
        """
        yield from self._stream(request, parse, partial(self._keep_parsed, parse=parse))

    def _stream(
        self, request: ChatRequest, parse: Callable[[ChatReply], T], keep: _Keep[T]
    ) -> Iterator[str | T]:
        key = call_key(self.name, request)
        known = self._look_up(key)
        if known is not None:
            parsed = self._parse_known(key, request, known, parse)
            if known.text:
                yield known.text
            yield parsed
            return
        for item in self._model.stream(request):
            if isinstance(item, ChatReply):
                yield keep(key, request, _with_a_call(item))
            else:
                yield item

    def _obtain(self, request: ChatRequest, parse: Callable[[ChatReply], T], keep: _Keep[T]) -> T:
        key = call_key(self.name, request)
        made: list[T] = []

        def lead() -> ChatReply:
            with self._cache.locks.hold(key):  # another process may be about to keep it
                known = self._look_up(key)
                if known is not None:
                    return known
                reply = _with_a_call(self._model.complete(request))
                made.append(keep(key, request, reply))
                return reply

        reply, ours = self._cache.flights.run(key, lead)
        if ours and made:
            return made[0]
        return self._parse_known(key, request, reply, parse)

    def _parse_known(
        self, key: bytes, request: ChatRequest, reply: ChatReply, parse: Callable[[ChatReply], T]
    ) -> T:
        """Count a reuse, and return what ``parse`` makes of a kept reply or take it out of use."""
        reused = self._reuse(request, reply)
        try:
            return parse_reply(reused, parse)
        except Unparsable as error:
            self._cache.revoke(key, self.name, request, reply, error.reason)
            raise

    def _look_up(self, key: bytes) -> ChatReply | None:
        """Return the kept reply, if any; raise Unparsable for a rejected one, unless retrying."""
        found = self._cache.find(key)
        if isinstance(found, RejectedReply):
            if self._retry_rejected:
                return None
            raise Unparsable(
                found.reason,
                text=found.text,
                fix="The model is asked again only on request: `--retry`.",
            )
        return found

    def _keep_whole(self, key: bytes, request: ChatRequest, reply: ChatReply) -> ChatReply:
        """Count a call, and keep its reply if it is whole."""
        self._meter.add(self.name, request, reply.usage)
        if is_whole(reply):
            self._cache.accept(key, self.name, request, reply)
        else:
            self._cache.count_call(self.name, request, reply.usage)
        return reply

    def _keep_parsed(
        self,
        key: bytes,
        request: ChatRequest,
        reply: ChatReply,
        parse: Callable[[ChatReply], T],
    ) -> T:
        """Count a call, and keep its reply if it can be parsed, else apart."""
        self._meter.add(self.name, request, reply.usage)
        try:
            parsed = parse_reply(reply, parse)
        except Unparsable as error:
            self._cache.reject(key, self.name, request, reply, error.reason)
            raise
        except BaseException:
            # A fault of the parser says nothing about the reply; but the call was paid for.
            self._cache.count_call(self.name, request, reply.usage)
            raise
        self._cache.accept(key, self.name, request, reply)
        return parsed

    def _reuse(self, request: ChatRequest, reply: ChatReply) -> ChatReply:
        """Count that a reply is used again, and return it at no cost."""
        usage = TokenUsage(reused=1)
        self._cache.count_reuse(self.name, request, reply.usage)
        self._meter.add(self.name, request, usage)
        self._meter.save(reply.usage)
        return replace(reply, usage=usage)


def _with_a_call(reply: ChatReply) -> ChatReply:
    """Return a reply that counts as a call also where its model told of none."""
    if reply.usage.calls or reply.usage.reused:
        return reply
    return replace(reply, usage=replace(reply.usage, calls=1))
