"""Build retrievers by name, or composed: ``decompose > bm25 + dense > diversify``.

A step that changes the question stands before the retriever, one that changes its evidence behind
it; a sum fuses. Retrievers that expand passages may stand in both places: alone they search by
themselves, behind a retriever they expand what it found.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from knotwork.errors import ConfigError, RetrievalError, UnknownName
from knotwork.inference.chat import ChatModel
from knotwork.inference.cross_encoders import Reranker
from knotwork.inference.embedder import Embedder
from knotwork.records import Evidence, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.fusion import FusedRetriever
from knotwork.retrieval.retriever_registry import (
    AUTO,
    RETRIEVERS,
    STEPS,
    Options,
    resolve_auto,
    retriever_names,
)
from knotwork.retrieval.specification_grammar import (
    RetrieverCall,
    RetrieverPipeline,
    RetrieverSum,
    Value,
    is_expression,
    parse_specification,
    show_specification,
    specification_error,
)
from knotwork.stores.base import Store

FUSE = "fuse"
"""The name under which a sum takes options: ``fuse(bm25 + dense, by=rank, tokens=2000)``."""

MOST_SEARCHES = 64
"""For one question, so that a specification from outside cannot keep a service busy."""

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
_WRITTEN = {"int": int, "float": float, "bool": bool, "str": str, "Path": str}
"""Words of annotations, and what is written for each."""
_NO_OPTIONS = frozenset({"self", "store", "embedder", "model", "base", "parts"})


@dataclass(frozen=True, slots=True)
class RetrieverInputs:
    """What retrievers are made with."""

    store: Store
    embedder: Embedder | None = None
    model: ChatModel | None = None
    reranker: Reranker | None = None


def build_specification(
    text: str,
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
) -> Retriever:
    """Build the retriever that a specification describes.

    Raises ConfigError for one that cannot be read or has a wrong option, UnknownName for an unknown
    name, RetrievalError where a part cannot work on this store.
    """
    tree = parse_specification(text)
    searches = count_searches(tree)
    if searches > MOST_SEARCHES:
        raise ConfigError(
            f"`{text}` would search up to {searches:,} times for one question, and {MOST_SEARCHES} "
            "are the most.",
            fix="Leave out steps before retrievers, or retrievers.",
        )
    return _Builder(text, RetrieverInputs(store, embedder, model, reranker)).build(tree)


def count_searches(node: RetrieverCall | RetrieverSum | RetrieverPipeline) -> int:
    """Return how many searches a specification may take for one question, at most."""
    if isinstance(node, RetrieverSum):
        return sum(count_searches(part) for _, part in node.parts)
    if isinstance(node, RetrieverCall):
        return count_searches(node.inner) if node.inner is not None else 1
    total = 1
    for stage in node.stages:
        if isinstance(stage, RetrieverCall) and stage.name in STEPS:
            total *= STEPS[stage.name].searches
        else:
            total *= count_searches(stage)
    return total


def open_base(
    base: str | Retriever,
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
) -> Retriever:
    """Return the retriever below another: itself, or the one of this name or specification."""
    if isinstance(base, str):
        return build_retriever(base, store=store, embedder=embedder, model=model)
    return base


class ComposedRetriever:
    """A retriever under the specification that describes it."""

    def __init__(self, name: str, inner: Retriever) -> None:
        self.name = name
        self.requires = inner.requires
        self._inner = inner

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the retriever, under this name."""
        return replace(self._inner.retrieve(query), retriever=self.name)


class _Builder:
    def __init__(self, text: str, means: RetrieverInputs) -> None:
        self._text = text
        self._means = means

    def build(self, node: RetrieverCall | RetrieverSum | RetrieverPipeline) -> Retriever:
        """Return the retriever of a part of the tree that must be one by itself."""
        if isinstance(node, RetrieverSum):
            return self._fuse(node, {})
        if isinstance(node, RetrieverCall):
            return self._retriever(node)
        return self._pipeline(node)

    def _pipeline(self, node: RetrieverPipeline) -> Retriever:
        before: list[RetrieverCall] = []
        stages = list(node.stages)
        while (
            stages and isinstance(stages[0], RetrieverCall) and _order(stages[0].name) == "before"
        ):
            before.append(stages[0])
            del stages[0]
        if not stages:
            example = f"`{before[0].name} > {AUTO}`"
            reason = f"There is no retriever behind `{before[-1].name}`, as in {example}"
            raise specification_error(self._text, len(self._text), reason)
        found = self.build(stages[0])
        for step in reversed(before):
            found = self._step(step, found)
        for stage in stages[1:]:
            if not isinstance(stage, RetrieverCall):
                reason = "Behind a retriever come steps; retrievers are joined by `+`"
                raise specification_error(self._text, stage.place, reason)
            found = self._step(stage, found)
        if len(node.stages) == 1:
            return found
        return ComposedRetriever(show_specification(node), found)

    def _retriever(self, call: RetrieverCall) -> Retriever:
        if call.name == FUSE:
            return self._fuse(_summed(call, self._text), call.options)
        if call.name in STEPS:
            side = "before" if _order(call.name) == "before" else "behind"
            reason = f"`{call.name}` is a step, which stands {side} a retriever"
            raise specification_error(self._text, call.place, reason)
        if call.name not in RETRIEVERS and call.name != AUTO:
            raise _unknown(call.name)
        means = self._means
        if call.options or call.inner is not None:
            pattern = RETRIEVERS.get(call.name)
            if pattern is None:
                raise specification_error(self._text, call.place, f"`{AUTO}` has no options")
            options: dict[str, Any] = dict(_checked(call, _import_class(pattern.place)))
            if call.inner is not None:
                options["base"] = self._inner(call, _import_class(pattern.place))
        else:
            options = {}
        found = build_retriever(
            call.name,
            store=means.store,
            embedder=means.embedder,
            model=means.model,
            reranker=means.reranker,
            options=options,
        )
        return ComposedRetriever(show_specification(call), found) if options else found

    def _inner(self, call: RetrieverCall, kind: type) -> Retriever:
        assert call.inner is not None, "asked for where there is one"
        if "base" not in inspect.signature(kind).parameters:
            raise specification_error(
                self._text, call.inner.place, f"`{call.name}` is made of no retriever"
            )
        return self.build(call.inner)

    def _step(self, call: RetrieverCall, base: Retriever) -> Retriever:
        """Return a step around a retriever."""
        if call.inner is not None:
            reason = f"`{call.name}` is behind a retriever, and is given another"
            raise specification_error(self._text, call.inner.place, reason)
        step = STEPS.get(call.name)
        pattern = RETRIEVERS.get(call.name)
        place = step.place if step else pattern.place if pattern else ""
        if not place:
            raise _unknown(call.name)
        kind = _import_class(place)
        if "base" not in inspect.signature(kind).parameters:
            reason = f"`{call.name}` is a retriever, which is joined to another by `+`"
            raise specification_error(self._text, call.place, reason)
        means = self._means
        given: dict[str, Any] = {"store": means.store, "embedder": means.embedder, "base": base}
        if step is not None and step.takes_model:
            given["model"] = means.model
        if step is not None and step.takes_reranker:
            given["reranker"] = means.reranker
        made: Retriever = kind(**given, **_checked(call, kind))
        return made

    def _fuse(self, node: RetrieverSum, options: Mapping[str, Value]) -> Retriever:
        parts = [(weight, self.build(part)) for weight, part in node.parts]
        checked: dict[str, Any] = dict(_checked(RetrieverCall(FUSE, options), FusedRetriever))
        return FusedRetriever(store=self._means.store, parts=parts, **checked)


def _order(name: str) -> str:
    return STEPS[name].order if name in STEPS else ""


def _unknown(name: str) -> UnknownName:
    return UnknownName("retriever or step", name, [*retriever_names(), *STEPS, FUSE])


def _summed(call: RetrieverCall, text: str) -> RetrieverSum:
    stages = call.inner.stages if call.inner is not None else ()
    if len(stages) != 1:
        raise specification_error(
            text, call.place, f"`{FUSE}` is given a sum, as in `{FUSE}(bm25 + dense)`"
        )
    stage = stages[0]
    return stage if isinstance(stage, RetrieverSum) else RetrieverSum(((1.0, stage),), call.place)


def _import_class(place: str) -> type:
    module, _, name = place.partition(":")
    kind: type = getattr(import_module(module), name)
    return kind


def _checked(call: RetrieverCall, kind: type) -> Mapping[str, Value]:
    """Return the options of a call, if its class has them all, of these types."""
    known = {
        name: wanted
        for name, parameter in inspect.signature(kind).parameters.items()
        if name not in _NO_OPTIONS and (wanted := _types(parameter))
    }
    checked: dict[str, Value] = {}
    for name, value in call.options.items():
        if name not in known:
            raise UnknownName(f"option of `{call.name}`", name, known, place=f" in `{call.name}`")
        wanted = known[name]
        given = float(value) if type(value) is int and {int, float} & wanted == {float} else value
        if type(given) not in wanted:
            must = " or ".join(_WORDS[kind] for kind in _WORDS if kind in wanted)
            raise ConfigError(f"`{name}` of `{call.name}` is `{value}`, but must be {must}.")
        checked[name] = given
    return checked


def _types(parameter: inspect.Parameter) -> set[type]:
    """Return the types of values that can be written for a parameter; a path is a text."""
    named = {_WRITTEN[word] for word in str(parameter.annotation).split(" | ") if word in _WRITTEN}
    default = type(parameter.default)
    return named | ({default} if default in _WORDS else set())


def build_retriever(
    name: str,
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
    options: Options | None = None,
) -> Retriever:
    """Build the retriever of this name, or composed as `specification` describes, over a store.

    Raises UnknownName, ConfigError for an option that it does not have or a specification with a
    mistake, RetrievalError when the store or the lack of an embedder or of a model rules it out.
    """
    resolved = resolve_auto(name, store)
    if resolved not in RETRIEVERS:
        if options or not (is_expression(name) or name in STEPS):
            raise UnknownName("retriever", name, retriever_names())
        from knotwork.retrieval.retriever_builder import build_specification

        return build_specification(
            name, store=store, embedder=embedder, model=model, reranker=reranker
        )
    pattern = RETRIEVERS[resolved]
    if pattern.needs_model and model is None:
        raise RetrievalError(
            f"The retriever `{name}` needs a language model, and none is set.",
            fix="Set llm.model, or use `auto`.",
        )
    module, _, kind = pattern.place.partition(":")
    make = getattr(import_module(module), kind)
    given: dict[str, object] = {}
    if pattern.takes_model or pattern.needs_model:
        given["model"] = model
    if pattern.takes_reranker:
        given["reranker"] = reranker
    try:
        retriever: Retriever = make(store=store, embedder=embedder, **given, **(options or {}))
    except TypeError as error:
        if not options:
            raise
        raise ConfigError(
            f"The retriever `{name}` cannot be made with these options: {error}."
        ) from error
    missing = retriever.requires - store.capabilities
    if missing:
        needed = ", ".join(f"`{capability}`" for capability in sorted(missing))
        raise RetrievalError(
            f"The retriever `{name}` needs {needed}, which the store {store.url} does not have."
        )
    return retriever
