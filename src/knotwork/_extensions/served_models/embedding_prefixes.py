"""The texts that families of embedding models expect before a question and before a passage.

A server embeds what it gets, so the client has to add them. `FAMILIES` follows the cards of the
models: without its prefixes, such a model ranks passages worse.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import blake2b

from knotwork._config import AUTO
from knotwork._inference.embedder import PREFIXES_LABEL

_SENTENCE = "Represent this sentence for searching relevant passages: "
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What is put before a question or a name, and before a passage or a sentence."""

    query: str = ""
    document: str = ""

    @property
    def label(self) -> str:
        """A part of an embedder's name that differs for other prefixes; empty without any."""
        if self == NO_PREFIXES:
            return ""
        text = json.dumps([self.query, self.document])
        return f"{PREFIXES_LABEL}{blake2b(text.encode(), digest_size=4).hexdigest()}"


NO_PREFIXES = Prefixes()

FAMILIES: dict[str, Prefixes] = {
    "*e5-*instruct*": Prefixes(f"{_TASK}Query: "),
    "*e5-small*": Prefixes("query: ", "passage: "),
    "*e5-base*": Prefixes("query: ", "passage: "),
    "*e5-large*": Prefixes("query: ", "passage: "),
    "*nomic-embed-text*": Prefixes("search_query: ", "search_document: "),
    "*modernbert-embed*": Prefixes("search_query: ", "search_document: "),
    "*bge-*-en-icl*": NO_PREFIXES,
    "*bge-*-zh*": Prefixes("为这个句子生成表示以用于检索相关文章："),
    "*bge-small*": Prefixes(_SENTENCE),
    "*bge-base*": Prefixes(_SENTENCE),
    "*bge-large*": Prefixes(_SENTENCE),
    "*gte-qwen*": Prefixes(f"{_TASK}Query: "),
    "*qwen3-embedding*": Prefixes(f"{_TASK}Query:"),
    "*mxbai-embed-large*": Prefixes(_SENTENCE),
    "*mxbai-embed-xsmall*": Prefixes(_SENTENCE),
    "*snowflake-arctic-embed2*": Prefixes("query: "),
    "*arctic-embed-*-v2*": Prefixes("query: "),
    "*arctic-embed*": Prefixes(_SENTENCE),
    "*embeddinggemma*": Prefixes("task: search result | query: ", "title: none | text: "),
}
"""Prefixes by pattern of model names in lower case; the first match applies."""


def choose_prefixes(model: str, *, query: str = AUTO, document: str = AUTO) -> Prefixes:
    """Return the prefixes of a model; "auto" is that of its family, if it is known."""
    name = model.lower()
    known = next((found for pattern, found in FAMILIES.items() if fnmatchcase(name, pattern)), None)
    family = known or NO_PREFIXES
    return Prefixes(
        family.query if query == AUTO else query,
        family.document if document == AUTO else document,
    )
