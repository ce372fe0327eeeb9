"""Text to SQL over tables from spreadsheets and delimited files, by the same translators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from knotwork.errors import StoreNotFound
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.retrieval.queries.dynamic_cypher import RuleTranslator
from knotwork.retrieval.queries.examples import Example, ExampleBook, read_examples
from knotwork.retrieval.queries.repair import ROUNDS
from knotwork.retrieval.queries.retriever import StatementRetriever
from knotwork.retrieval.queries.sql_tables import SqlTables
from knotwork.retrieval.queries.statements import QueryTarget, Translator
from knotwork.retrieval.queries.text_translation import ModelTranslator
from knotwork.stores.base import Store
from knotwork.stores.filtered import FilteredStore
from knotwork.stores.tables import TableFile, tables_path


class TextToSqlRetriever(StatementRetriever):
    """Rows of the tables beside an index, by a statement of a model or of rules.

    ``tables`` is the file that holds them, by default the one beside the index
    (``knotwork tables add``). The index itself can not be reached.
    """

    name = "text_to_sql"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        tables: str | Path | None = None,
        words: Mapping[str, tuple[str, ...]] | None = None,
        examples: Sequence[Example] | str | Path = (),
        rounds: int = ROUNDS,
    ) -> None:
        super().__init__(store=store, embedder=embedder, rounds=rounds)
        path = Path(tables) if tables is not None else tables_path(store.url)
        self._tables = SqlTables(TableFile(path), words=words) if path is not None else None
        self._writer = model
        known = read_examples(Path(examples)) if isinstance(examples, str | Path) else examples
        self._examples = ExampleBook(known, embedder=embedder)
        self._rules = RuleTranslator(self._tables, embedder) if self._tables else None

    def target(self) -> QueryTarget:
        """Return the tables. Raises StoreNotFound where there can be none, or under a filter."""
        if isinstance(self._store, FilteredStore):
            raise StoreNotFound("Rows of tables cannot be filtered, so no table was queried.")
        if self._tables is None:
            raise StoreNotFound("An index in memory has no tables beside it.")
        return self._tables

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model, where there is one, then the rules."""
        del target
        rules: list[Translator] = [self._rules] if self._rules else []
        if self._writer is None:
            return rules
        return [ModelTranslator(self._writer, self._examples), *rules]
