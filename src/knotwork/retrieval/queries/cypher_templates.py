"""Cypher templates: one of a person's queries, chosen and filled by a model or without one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from knotwork.errors import Unparsable
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork.inference.checked import complete_checked
from knotwork.retrieval.queries.cypher_graph import CypherGraph, choose_graph
from knotwork.retrieval.queries.examples import Example, ExampleBook, mask_values
from knotwork.retrieval.queries.filling import align_values, covered, fill_slots
from knotwork.retrieval.queries.prompting import describe_names, fill_prompt, make_harmless
from knotwork.retrieval.queries.repair import ROUNDS
from knotwork.retrieval.queries.retriever import StatementRetriever
from knotwork.retrieval.queries.statements import (
    Asked,
    Attempt,
    QueryTarget,
    Statement,
    Translator,
)
from knotwork.retrieval.queries.templates import Template, read_templates
from knotwork.retrieval.queries.values import StoredValues, find_mentions
from knotwork.stores.base import Store
from knotwork.text.languages import detect_language

STAGE = "template"
LEAST_LIKENESS = 0.25
"""How like a question must be to what a template is for, from 0 to 1."""
MOST_OFFERED = 12
_COVER_WORTH = 0.5
_SUREST = 0.9
_LINE = re.compile(r"^\W*(\d{1,3})\b(.*)$", re.MULTILINE)
_NONE = re.compile(r"\W*(?:none|无|没有)\W*", re.IGNORECASE)


class TemplateBook:
    """Templates by what questions they are for: words, vectors, and what their slots can take."""

    def __init__(
        self,
        templates: Sequence[Template],
        values: StoredValues,
        *,
        embedder: Embedder | None = None,
    ) -> None:
        self._owners: list[Template] = []
        examples = []
        for template in templates:
            for text in (template.description, *template.questions):
                if text.strip():
                    masked = mask_values(text, find_mentions(text, values))
                    examples.append(Example(masked, template.statement))
                    self._owners.append(template)
        self._book = ExampleBook(examples, embedder=embedder)

    def rank(self, asked: Asked) -> list[tuple[Template, float]]:
        """Return the templates that a question may mean, each with how well it fits."""
        best: dict[str, tuple[Template, float]] = {}
        places = {id(example): n for n, example in enumerate(self._book.examples)}
        count = len(self._book.examples)
        for example, likeness in self._book.nearest(asked.text, k=count, mentions=asked.mentions):
            template = self._owners[places[id(example)]]
            fit = likeness * (1 - _COVER_WORTH + _COVER_WORTH * covered(template, asked))
            if likeness >= LEAST_LIKENESS and fit > best.get(template.name, (template, 0.0))[1]:
                best[template.name] = template, fit
        return sorted(best.values(), key=lambda item: (-item[1], item[0].name))


class MatchingTranslator:
    """Chooses the template that fits best and whose slots the question fills."""

    def __init__(self, book: TemplateBook) -> None:
        self._book = book

    def translate(self, asked: Asked, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the best template that is filled and was not tried."""
        tried = {attempt.statement.text for attempt in attempts}
        for template, fit in self._book.rank(asked):
            values = fill_slots(template, asked)
            if values is not None and template.statement not in tried:
                sureness = min(_SUREST, fit)
                return Statement(template.statement, values, f"template {template.name}", sureness)
        return None


class ChoosingTranslator:
    """Has a model choose among the templates that fit best, and fill the slots."""

    def __init__(self, book: TemplateBook, values: StoredValues, model: ChatModel) -> None:
        self._book = book
        self._values = values
        self._model = model

    def translate(self, asked: Asked, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the template that the model chooses; None for none, and after one attempt.

        Raises ModelError as `complete_checked`.
        """
        offered = [template for template, _ in self._book.rank(asked)[:MOST_OFFERED]]
        if attempts or not offered:
            return None
        chosen = complete_checked(
            self._model, _request(asked, offered), lambda reply: parse_choice(reply, offered)
        )
        if chosen is None:
            return None
        template, given = chosen
        values = align_values(template, given, self._values)
        if values is None:
            return None
        return Statement(template.statement, values, f"template {template.name}", _SUREST)


def parse_choice(
    reply: ChatReply, offered: Sequence[Template]
) -> tuple[Template, dict[str, str]] | None:
    """Read a number and the slots behind it; None where none fits. Raises Unparsable."""
    found = _LINE.search(reply.text)
    if found is None:
        if _NONE.fullmatch(reply.text):
            return None
        raise Unparsable("The reply names no query by its number.")
    if not 1 <= int(found[1]) <= len(offered):
        raise Unparsable(f"There is no query {found[1]}.")
    parts = [part.partition("=") for part in found[2].split("|")]
    return offered[int(found[1]) - 1], {k.strip(): v.strip() for k, eq, v in parts if eq}


def _request(asked: Asked, offered: Sequence[Template]) -> ChatRequest:
    lines = [
        f"{n}. {t.description or t.name} (slots: {', '.join(t.slots) or 'none'})"
        for n, t in enumerate(offered, start=1)
    ]
    blanks = {
        "schema": make_harmless("\n".join(lines)),
        "names": describe_names(asked),
        "question": make_harmless(asked.text.strip()),
    }
    messages = fill_prompt("template", detect_language(asked.text), blanks)
    return ChatRequest(messages, max_output_tokens=120, stage=STAGE)


class CypherTemplatesRetriever(StatementRetriever):
    """Rows of a graph by one of a person's queries.

    ``templates`` are templates, or the TOML file that holds them (see `templates`); ``graph`` and
    ``words`` are as for dynamic Cypher.
    """

    name = "cypher_templates"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        templates: Sequence[Template] | str | Path = (),
        graph: str | None = None,
        words: Mapping[str, tuple[str, ...]] | None = None,
        rounds: int = ROUNDS,
    ) -> None:
        super().__init__(store=store, embedder=embedder, rounds=rounds)
        if isinstance(templates, str | Path):
            templates = read_templates(Path(templates))
        self._templates = tuple(templates)
        self._model = model
        self._graph = CypherGraph(store, graph=choose_graph(store, graph), words=words)
        self._book: tuple[StoredValues, TemplateBook] | None = None

    def target(self) -> CypherGraph:
        """Return the graph that is asked."""
        return self._graph

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model's choice, where there is a model, then the matcher."""
        values = target.values()
        if self._book is None or self._book[0] is not values:
            book = TemplateBook(self._templates, values, embedder=self._embedder)
            self._book = values, book
        matcher = MatchingTranslator(self._book[1])
        if self._model is None:
            return [matcher]
        return [ChoosingTranslator(self._book[1], values, self._model), matcher]
