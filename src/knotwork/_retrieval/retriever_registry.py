"""Retrievers and steps by name, and by a specification such as ``decompose > bm25 + dense``.

To add a retriever or step, write its class and one row here. Its class is imported when it is
first built, so listing the names imports no retriever. The parameters of its constructor decide
what it is given: see `build_retriever`.

A specification is an expression: stages joined by ``>``, which are steps on the question, one
retriever, and steps on its evidence. A stage is a sum of parts joined by ``+`` whose evidence is
fused; ``2*`` before a part is its weight. A part is a name with optional arguments in parentheses,
or an expression in parentheses. Arguments are ``name=value``, separated by commas, and an
expression may precede them. A value is a number, ``true``, ``false``, a word or a quoted text.

A retriever that expands passages may search by itself, or follow another one and expand what that
found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._registry import Entry, Registry, required_parameters, takes
from knotwork._retrieval.base import Retriever, RetrieverStep
from knotwork._retrieval.fusion import FusedRetriever
from knotwork._stores.base import Store
from knotwork.errors import ConfigError, RetrievalError, UnknownName
from knotwork.records import Evidence, Hit, Query

if TYPE_CHECKING:
    from knotwork._extensions.queries.query_plans import Translator


Value = int | float | bool | str

LONGEST = 2_000
"""Maximum length of a specification, in characters."""

DEEPEST = 20
"""Maximum nesting of parentheses."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')|(?P<sign>[>+*(),=]))"
)
_FIX = "Write for example `decompose > bm25 + dense > diversify` or `sentence_window(size=2)`."


@dataclass(frozen=True, slots=True)
class RetrieverCall:
    """A retriever or step with its options; ``inner`` is an expression as first argument."""

    name: str
    options: Mapping[str, Value] = field(default_factory=dict)
    inner: RetrieverPipeline | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class RetrieverSum:
    """Parts whose evidence is fused, each with its weight."""

    parts: tuple[tuple[float, RetrieverCall | RetrieverPipeline], ...]
    position: int = 0


@dataclass(frozen=True, slots=True)
class RetrieverPipeline:
    """Stages in order: steps on the question, a retriever, steps on its evidence."""

    stages: tuple[RetrieverCall | RetrieverSum | RetrieverPipeline, ...]
    position: int = 0


SpecificationNode = RetrieverCall | RetrieverSum | RetrieverPipeline


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def is_expression(text: str) -> bool:
    """Return True unless the text is a plain name."""
    return re.fullmatch(r"\s*[A-Za-z_][\w-]*\s*", text) is None


def parse_specification(text: str) -> RetrieverPipeline:
    """Return the syntax tree of a specification.

    Raises ConfigError with the position of the mistake and what is expected there.
    """
    if len(text) > LONGEST:
        raise ConfigError(
            f"The specification has {len(text):,} characters, but at most {LONGEST:,} are allowed."
        )
    if not is_expression(text):
        return RetrieverPipeline((RetrieverCall(text.strip()),))
    parser = _Parser(text)
    tree = parser.expression(depth=0)
    parser.expect("end")
    return tree


def calls_of(node: SpecificationNode) -> Iterator[RetrieverCall]:
    """Yield all calls of a tree, each before the calls in its argument."""
    children: list[SpecificationNode] = []
    if isinstance(node, RetrieverCall):
        yield node
        children += [node.inner] if node.inner is not None else []
    elif isinstance(node, RetrieverSum):
        children += [part for _, part in node.parts]
    else:
        children += node.stages
    for child in children:
        yield from calls_of(child)


def show_specification(node: SpecificationNode) -> str:
    """Return the canonical text of a tree; parsing it gives the same tree."""
    if isinstance(node, RetrieverCall):
        inner = [show_specification(node.inner)] if node.inner is not None else []
        options = [f"{name}={_show_value(value)}" for name, value in node.options.items()]
        arguments = ", ".join([*inner, *options])
        return f"{node.name}({arguments})" if arguments else node.name
    if isinstance(node, RetrieverSum):
        return " + ".join(
            (f"{weight:g}*" if weight != 1.0 else "") + _bracketed(part)
            for weight, part in node.parts
        )
    return " > ".join(
        _bracketed(stage) if isinstance(stage, RetrieverPipeline) else show_specification(stage)
        for stage in node.stages
    )


def _bracketed(node: RetrieverCall | RetrieverPipeline) -> str:
    shown = show_specification(node)
    whole = isinstance(node, RetrieverCall) or (
        len(node.stages) == 1 and isinstance(node.stages[0], RetrieverCall)
    )
    return shown if whole else f"({shown})"


def _show_value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_][\w-]*", value):
        return f"'{value}'" if '"' in value else f'"{value}"'
    return str(value)


def specification_error(text: str, position: int, reason: str) -> ConfigError:
    """Return the error for a mistake at a position, counted from 0."""
    if position >= len(text):
        return ConfigError(f"{reason}, at the end of `{text}`.", fix=_FIX)
    rest = text[position : position + 20]
    return ConfigError(
        f"{reason}, at character {position + 1} of `{text}`, before `{rest}`.", fix=_FIX
    )


class _Parser:
    """A recursive-descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._read()
        self._next = 0

    def _read(self) -> list[_Token]:
        tokens, position = [], 0
        while position < len(self._text.rstrip()):
            match = _TOKEN.match(self._text, position)
            if match is None:
                rest = self._text[position:]
                start = position + len(rest) - len(rest.lstrip())
                raise specification_error(self._text, start, "Unexpected character")
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            position = match.end()
        return [*tokens, _Token("end", "", len(self._text))]

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _error(self, reason: str) -> ConfigError:
        return specification_error(self._text, self._token.position, reason)

    def _skips(self, sign: str) -> bool:
        """Consume the next token if it is this sign; return True if it was."""
        found = self._token.kind == "sign" and self._token.text == sign
        self._next += found
        return found

    def expect(self, wanted: str) -> _Token:
        """Consume and return the next token, which must be this sign or of this kind."""
        token = self._token
        if token.kind == wanted:
            self._next += 1
        elif not self._skips(wanted):
            name = {"end": "the end", "name": "a name"}.get(wanted, f"`{wanted}`")
            raise self._error(f"Expected {name}")
        return token

    def expression(self, *, depth: int) -> RetrieverPipeline:
        if depth > DEEPEST:
            raise self._error("Too many nested parentheses")
        position = self._token.position
        stages = [self._sum(depth)]
        while self._skips(">"):
            stages.append(self._sum(depth))
        return RetrieverPipeline(tuple(stages), position)

    def _sum(self, depth: int) -> SpecificationNode:
        position = self._token.position
        parts = [self._part(depth)]
        while self._skips("+"):
            parts.append(self._part(depth))
        if len(parts) == 1 and parts[0][0] == 1.0:
            return parts[0][1]
        return RetrieverSum(tuple(parts), position)

    def _part(self, depth: int) -> tuple[float, RetrieverCall | RetrieverPipeline]:
        weight = 1.0
        if self._token.kind == "number":
            weight = float(self._token.text)
            if weight <= 0:
                raise self._error("A weight must be above 0")
            self._next += 1
            self.expect("*")
        if self._skips("("):
            bracketed = self.expression(depth=depth + 1)
            self.expect(")")
            return weight, bracketed
        if self._token.kind != "name":
            raise self._error("Expected a retriever or a step")
        name = self.expect("name")
        options: dict[str, Value] = {}
        inner = None
        if self._skips("(") and not self._skips(")"):
            inner = self._arguments(options, depth)
            self.expect(")")
        return weight, RetrieverCall(name.text, options, inner, name.position)

    def _arguments(self, options: dict[str, Value], depth: int) -> RetrieverPipeline | None:
        """Parse arguments into ``options``; return the leading expression, if there is one."""
        inner = None
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        is_option = (
            self._token.kind == "name" and following.text == "=" and following.kind == "sign"
        )
        if not is_option:
            inner = self.expression(depth=depth + 1)
            if not self._skips(","):
                return inner
        while True:
            key = self.expect("name")
            self.expect("=")
            if key.text in options:
                raise specification_error(self._text, key.position, f"`{key.text}` is given twice")
            options[key.text] = self._value()
            if not self._skips(","):
                return inner

    def _value(self) -> Value:
        kind, text, _ = self._token
        if kind not in ("number", "name", "text"):
            raise self._error("Expected a number, a word or a quoted text")
        self._next += 1
        if kind == "number":
            return float(text) if "." in text else int(text)
        return text[1:-1] if kind == "text" else {"true": True, "false": False}.get(text, text)


AUTO = "auto"
AUTO_IS = "graph"
"""The retriever behind `auto`: the best one on the benchmarks (benchmarks/results/retrieval.md)."""
AUTO_OVER_GRAPHS = "paths"
"""The retriever behind `auto` if a graph was imported. Its passages are those of `graph`, unless
the relations of the imported graph very likely lead to an answer."""

FUSE = "fuse"
"""The name under which a sum takes options: ``fuse(bm25 + dense, by=rank, tokens=2000)``."""


def _entries(table: str) -> tuple[Entry, ...]:
    """Return the entries of a table whose modules are below `_retrieval`."""
    return tuple(
        replace(entry, target=f"knotwork._retrieval.{entry.target}") for entry in Entry.read(table)
    )


_RETRIEVERS = _entries(
    """
bm25 = base:Bm25Retriever
    passages with the question's words (BM25)
dense = base:DenseRetriever embedder
    passages with vectors near the question's
hybrid = base:HybridRetriever
    words and vectors in one weighted score
graph = base:GraphRetriever
    hybrid, plus named entities and bridges between passages
questions = base:QuestionsRetriever
    passages by the questions they answer (index.questions)
"""
)
USUAL_RETRIEVERS = ("bm25", "dense", "hybrid")
"""Shown first. The others are the patterns of docs/patterns.md, which are for special cases."""
_STEPS = _entries(
    """
decompose = steps.decompose:Decompose
    split nested and comparing questions and search for each part
expand = steps.query_transformation:Expand
    also search for words of the best passages and for aliases
hyde = steps.query_transformation:Hyde
    also search for a hypothetical passage that answers
rewrite = steps.query_transformation:Rewrite
    remove polite phrases and correct the spelling
budget = steps.postprocessing:EvidenceBudget
    keep the best passages that fit a token budget
diversify = steps.postprocessing:Diversify
    rank passages that add something before those that repeat
prune = steps.postprocessing:Prune
    drop weak passages, and weak sentences of the others
rerank = steps.postprocessing:Rerank
    reorder the best passages by features, an encoder or a model
"""
)

RETRIEVERS: Registry[Retriever] = Registry(
    "retrievers",
    _RETRIEVERS,
    kind="retriever",
    protocol=Retriever,
    reserved={AUTO, FUSE, *(step.name for step in _STEPS)},
    per_store=True,
)
STEPS: Registry[RetrieverStep] = Registry(
    "steps",
    _STEPS,
    kind="step",
    protocol=RetrieverStep,
    reserved={AUTO, FUSE, *(retriever.name for retriever in _RETRIEVERS)},
    per_store=True,
)


def retriever_names() -> list[str]:
    """Return all valid names, those of plugins included, `auto` first."""
    return [AUTO, *RETRIEVERS.names()]


def resolve_auto(name: str, store: Store) -> str:
    """Return ``name``, or the retriever that `auto` selects on this store."""
    if name != AUTO:
        return name
    graphs = store.capabilities.property_graphs
    return AUTO_OVER_GRAPHS if graphs is not None and graphs.names() else AUTO_IS


def may_ask_model(specification: str) -> bool:
    """Return True if a retriever of this name or specification may call a language model.

    Raises ConfigError if the specification cannot be parsed.
    """
    return any(
        call.options.get("by") == "model"
        or (call.name in RETRIEVERS and takes(RETRIEVERS.load(call.name), "model"))
        for call in calls_of(parse_specification(specification))
    )


def may_rerank(specification: str) -> bool:
    """Return True if a retriever of this name or specification may call a reranking model.

    Raises ConfigError if the specification cannot be parsed.
    """
    return any(
        takes(parts.load(call.name), "reranker")
        for call in calls_of(parse_specification(specification))
        for parts in (RETRIEVERS, STEPS)
        if call.name in parts
    )


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


class CheckedRetriever:
    """A retriever or step of a plugin, whose result is checked: what uses it relies on its type."""

    def __init__(self, inner: Retriever, origin: str) -> None:
        self.name = inner.name
        self._inner = inner
        self._origin = origin

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the plugin. Raises RetrievalError for anything else."""
        found = self._inner.retrieve(query)
        if not isinstance(found, Evidence) or not all(isinstance(hit, Hit) for hit in found.hits):
            raise RetrievalError(
                f"The retriever `{self.name}` of {self._origin} did not return Evidence with hits, "
                f"but {str(found)[:80]!r}.",
                fix="Have its `retrieve` return the result of `rank_evidence`, or report this.",
            )
        return found


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
        is_bare = not call.options and call.inner is None
        if call.name == AUTO and not is_bare:
            raise specification_error(self._text, call.position, f"`{AUTO}` has no options")
        if call.name == AUTO:
            name = resolve_auto(AUTO, self._inputs["store"])
            return _construct(name, RETRIEVERS, self._inputs, {})
        self._require(call)
        base = None
        if call.inner is not None:
            if not takes(RETRIEVERS.load(call.name), "base"):
                reason = f"`{call.name}` does not take a retriever as argument"
                raise specification_error(self._text, call.inner.position, reason)
            base = self.build(call.inner)
        retriever = _construct(call.name, RETRIEVERS, self._inputs, call.options, base)
        return retriever if is_bare else ComposedRetriever(show_specification(call), retriever)

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
    made, entry = parts.create(name, **offered), parts.find(name)
    return CheckedRetriever(made, entry.origin) if entry.is_plugin else made


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
