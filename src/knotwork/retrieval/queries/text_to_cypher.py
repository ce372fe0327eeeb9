"""Text to Cypher: a model writes the whole statement, and repairs it by what happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.retrieval.queries.dynamic_cypher import DynamicCypherRetriever
from knotwork.retrieval.queries.examples import Example, ExampleBook, read_examples
from knotwork.retrieval.queries.repair import ROUNDS
from knotwork.retrieval.queries.statements import QueryTarget, Translator
from knotwork.retrieval.queries.text_translation import ModelTranslator
from knotwork.stores.base import Store


class TextToCypherRetriever(DynamicCypherRetriever):
    """Rows of a graph by a statement that a model writes from schema, names and examples.

    ``examples`` are questions with statements, or a file of them (`read_examples`). Without a
    model, and where it fails or finds nothing, the statement is assembled by rules.
    """

    name = "text_to_cypher"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        graph: str | None = None,
        words: Mapping[str, tuple[str, ...]] | None = None,
        examples: Sequence[Example] | str | Path = (),
        rounds: int = ROUNDS,
    ) -> None:
        super().__init__(store=store, embedder=embedder, graph=graph, words=words, rounds=rounds)
        self._writer = model
        known = read_examples(Path(examples)) if isinstance(examples, str | Path) else examples
        self._examples = ExampleBook(known, embedder=embedder)

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model, where there is one, then the rules."""
        rules = super().translators(target)
        if self._writer is None:
            return rules
        return [ModelTranslator(self._writer, self._examples), *rules]
