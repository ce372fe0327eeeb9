"""Build retrievers from a name or a specification such as ``decompose > bm25 + dense > diversify``.

Steps that change the question precede the retriever, steps that change its evidence follow it, and
a sum fuses retrievers. A retriever that expands passages may do both: by itself it searches, and
after another retriever it expands what that one found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._registry import Registry, required_parameters, takes
from knotwork._retrieval.base import Retriever, RetrieverStep
from knotwork._retrieval.fusion import FusedRetriever
from knotwork._retrieval.retriever_registry import (
    AUTO,
    FUSE,
    RETRIEVERS,
    STEPS,
    resolve_auto,
    retriever_names,
)
from knotwork._retrieval.specification_grammar import (
    RetrieverCall,
    RetrieverPipeline,
    RetrieverSum,
    SpecificationNode,
    is_expression,
    parse_specification,
    show_specification,
    specification_error,
)
from knotwork._stores.base import Store
from knotwork.errors import ConfigError, RetrievalError, UnknownName
from knotwork.records import Evidence, Query

if TYPE_CHECKING:
    from knotwork._extensions.queries.query_plans import Translator

MOST_SEARCHES = 64
"""Searches per question, at most: a specification from outside must not keep a service busy."""

_Inputs = Mapping[str, Any]
"""The store and the models that retrievers are built with."""

_TYPE_NAMES: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a word or a quoted text",
}
"""The types of values that a specification can contain, as errors name them."""


def build_retriever(
    name: str,
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
    translator: str | Translator = "",
    options: Mapping[str, object] | None = None,
) -> Retriever:
    """Build a retriever over a store from a name or from a specification.

    ``options`` are fields of the retriever's ``Options``, for a plain name only. A constructor is
    called with those of ``store``, ``embedder``, ``model``, ``reranker``, ``translator``, ``base``
    and ``options`` that it declares; a parameter without a default must not be None.

    Raises UnknownName for an unknown retriever, step or option, ConfigError for an invalid
    specification or value, MissingCapability if the store lacks a part that the retriever needs,
    and RetrievalError if a required embedder or model is missing.
    """
    inputs: _Inputs = {
        "store": store,
        "embedder": embedder,
        "model": model,
        "reranker": reranker,
        "translator": translator,
    }
    if name == AUTO or name in RETRIEVERS:
        return _construct(resolve_auto(name, store), RETRIEVERS, inputs, options or {})
    if options or not (is_expression(name) or name in STEPS):
        raise UnknownName("retriever", name, retriever_names())
    tree = parse_specification(name)
    searches = _count_searches(tree)
    if searches > MOST_SEARCHES:
        raise ConfigError(
            f"`{name}` would search up to {searches:,} times for one question, but at most "
            f"{MOST_SEARCHES} searches are allowed.",
            fix="Remove steps before retrievers, or remove retrievers.",
        )
    return _SpecificationBuilder(name, inputs).build(tree)


class ComposedRetriever:
    """A retriever named by the specification that describes it."""

    def __init__(self, name: str, inner: Retriever) -> None:
        self.name = name
        self._inner = inner

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the inner retriever under this name."""
        return replace(self._inner.retrieve(query), retriever=self.name)


class _SpecificationBuilder:
    """Builds the retrievers of a syntax tree; ``text`` is the specification, for errors."""

    def __init__(self, text: str, inputs: _Inputs) -> None:
        self._text = text
        self._inputs = inputs

    def build(self, node: SpecificationNode) -> Retriever:
        """Build a node that is a complete retriever."""
        if isinstance(node, RetrieverSum):
            return self._fuse(node, {})
        if isinstance(node, RetrieverPipeline):
            return self._pipeline(node)
        if node.name != FUSE:
            return self._retriever(node)
        stages = node.inner.stages if node.inner is not None else ()
        if len(stages) != 1:
            reason = f"`{FUSE}` takes a sum, as in `{FUSE}(bm25 + dense)`"
            raise specification_error(self._text, node.position, reason)
        inner = stages[0]
        summed = inner if isinstance(inner, RetrieverSum) else RetrieverSum(((1.0, inner),))
        return self._fuse(summed, node.options)

    def _pipeline(self, node: RetrieverPipeline) -> Retriever:
        stages = list(node.stages)
        before: list[RetrieverCall] = []
        while stages and isinstance(first := stages[0], RetrieverCall) and _is_before(first):
            before.append(first)
            del stages[0]
        if not stages:
            example = f"`{before[0].name} > {AUTO}`"
            reason = f"There is no retriever after `{before[-1].name}`, as in {example}"
            raise specification_error(self._text, len(self._text), reason)
        retriever = self.build(stages[0])
        for step in reversed(before):
            retriever = self._step(step, retriever)
        for stage in stages[1:]:
            if not isinstance(stage, RetrieverCall):
                reason = "Only steps may follow a retriever; join retrievers with `+`"
                raise specification_error(self._text, stage.position, reason)
            retriever = self._step(stage, retriever)
        if len(node.stages) == 1:
            return retriever
        return ComposedRetriever(show_specification(node), retriever)

    def _retriever(self, call: RetrieverCall) -> Retriever:
        if call.name in STEPS:
            side = "before" if _is_before(call) else "after"
            reason = f"`{call.name}` is a step and must be {side} a retriever"
            raise specification_error(self._text, call.position, reason)
        if call.name != AUTO:
            self._require(call)
        if not call.options and call.inner is None:
            name = resolve_auto(call.name, self._inputs["store"])
            return _construct(name, RETRIEVERS, self._inputs, {})
        if call.name == AUTO:
            raise specification_error(self._text, call.position, f"`{AUTO}` has no options")
        base = None
        if call.inner is not None:
            if not takes(RETRIEVERS.load(call.name), "base"):
                reason = f"`{call.name}` does not take a retriever as argument"
                raise specification_error(self._text, call.inner.position, reason)
            base = self.build(call.inner)
        retriever = _construct(call.name, RETRIEVERS, self._inputs, call.options, base)
        return ComposedRetriever(show_specification(call), retriever)

    def _require(self, call: RetrieverCall) -> None:
        if call.name not in RETRIEVERS:
            known = [*retriever_names(), *STEPS.names(), FUSE]
            raise UnknownName("retriever or step", call.name, known)

    def _step(self, call: RetrieverCall, base: Retriever) -> Retriever:
        if call.inner is not None:
            reason = f"`{call.name}` already follows a retriever and cannot take another"
            raise specification_error(self._text, call.inner.position, reason)
        if call.name in STEPS:
            return _construct(call.name, STEPS, self._inputs, call.options, base)
        self._require(call)
        if not takes(RETRIEVERS.load(call.name), "base"):
            reason = f"`{call.name}` is a retriever; join it to another with `+`"
            raise specification_error(self._text, call.position, reason)
        return _construct(call.name, RETRIEVERS, self._inputs, call.options, base)

    def _fuse(self, node: RetrieverSum, options: Mapping[str, object]) -> Retriever:
        parts = [(weight, self.build(part)) for weight, part in node.parts]
        filled = FusedRetriever.Options(**_checked_options(FUSE, FusedRetriever.Options, options))
        return FusedRetriever(parts=parts, options=filled)


def _is_before(call: RetrieverCall) -> bool:
    return call.name in STEPS and bool(STEPS.load(call.name).precedes)


def _count_searches(node: SpecificationNode) -> int:
    """Return an upper bound of the searches for one question."""
    if isinstance(node, RetrieverSum):
        return sum(_count_searches(part) for _, part in node.parts)
    if isinstance(node, RetrieverCall):
        return _count_searches(node.inner) if node.inner is not None else 1
    total = 1
    for stage in node.stages:
        if isinstance(stage, RetrieverCall) and stage.name in STEPS:
            total *= STEPS.load(stage.name).searches
        else:
            total *= _count_searches(stage)
    return total


_NEEDED = {
    "embedder": (
        "an embedder",
        "Install the extra `local`, configure [embedding], or use `bm25` or `auto`.",
    ),
    "model": ("a language model", "Set llm.model, or use `auto`."),
    "reranker": ("a reranking model", "Set rerank.model, or use `auto`."),
}
"""What a constructor may require, as errors name it, and how to supply it."""


def _construct(
    name: str,
    parts: Registry[Retriever] | Registry[RetrieverStep],
    inputs: _Inputs,
    options: Mapping[str, object],
    base: Retriever | None = None,
) -> Retriever:
    """Create a retriever or step from what its constructor declares to take.

    Raises MissingCapability if the store cannot serve it.
    """
    target = parts.load(name)
    offered = dict(inputs)
    for required in sorted(required_parameters(target)):
        if required in _NEEDED and offered[required] is None:
            what, fix = _NEEDED[required]
            raise RetrievalError(
                f"The retriever `{name}` needs {what}, but none is configured.", fix=fix
            )
    if base is not None:
        offered["base"] = base
    if options:
        declared = getattr(target, "Options", None)
        checked = _checked_options(name, declared, options)
        offered["options"] = declared(**checked) if declared else None
    return parts.create(name, **offered)


def _checked_options(
    owner: str, declared: type | None, options: Mapping[str, object]
) -> dict[str, Any]:
    """Return ``options`` if they are fields of the dataclass ``declared`` with valid types.

    Numbers, truth values and texts are checked; other objects can only come from Python and are
    accepted unchanged. A whole number is accepted for a float.

    Raises UnknownName for an option that does not exist, ConfigError for a value of another type.
    """
    hints = get_type_hints(declared) if declared is not None else {}
    written = {name: types for name, hint in hints.items() if (types := _written_types(hint))}
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name in hints and not isinstance(value, int | float | str):
            checked[name] = value
            continue
        if name not in written:
            raise UnknownName(f"option of `{owner}`", name, written, place=f" in `{owner}`")
        types = written[name]
        if type(value) is int and float in types and int not in types:
            value = float(value)  # noqa: PLW2901
        if type(value) not in types:
            expected = " or ".join(text for kind, text in _TYPE_NAMES.items() if kind in types)
            raise ConfigError(f"`{name}` of `{owner}` is `{value}`, but must be {expected}.")
        checked[name] = value
    return checked


def _written_types(hint: object) -> frozenset[type]:
    """Return the types in which a specification may write a value for a type hint.

    A path is written as text; a hint that no written value fits has none.
    """
    origin = get_origin(hint)
    if origin is Union or origin is UnionType:
        return frozenset[type]().union(*map(_written_types, get_args(hint)))
    if origin is Literal:
        return frozenset(map(type, get_args(hint)))
    if hint is Path:
        return frozenset({str})
    return frozenset(kind for kind in _TYPE_NAMES if hint is kind)
