"""A splitter, an extractor and a corpus small enough to see through, for tests of the pipeline."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.changes import Tiers
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import SourceFile
from knotwork._indexing.stages import IndexingStages
from knotwork._inference.embedder import Embedder
from knotwork.errors import LoadError
from knotwork.records import (
    Chunk,
    Document,
    Extraction,
    Mention,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)

NAMES = ("Ada", "Bo", "Cleo", "Dai", "Elif", "Fay", "Gus", "Hana", "Ivo", "Juno", "Kai", "Lena")
WORDS = ("meets", "pays", "calls", "leads", "warns", "helps", "paints", "follows")


class ParagraphSplitter:
    """One chunk a paragraph, one sentence a line."""

    name = "paragraphs"

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        root = Section(
            content_id(document.id, "root"),
            document.id,
            None,
            0,
            0,
            document.title,
            Span(0, len(document.text)),
        )
        chunks = []
        for ordinal, match in enumerate(re.finditer(r"(?:.+\n?)+", document.text)):
            span = Span(match.start(), match.start() + len(match.group().rstrip("\n")))
            lines = re.finditer(r".+", document.text[span.start : span.end])
            chunks.append(
                Chunk(
                    content_id("chunk", document.id, ordinal, document.text[span.start : span.end]),
                    document.id,
                    root.id,
                    ordinal,
                    span,
                    document.text[span.start : span.end],
                    tuple(Span(span.start + m.start(), span.start + m.end()) for m in lines),
                    document.title,
                )
            )
        return [root], chunks


class NameExtractor:
    """Capitalised words are entities; two of one sentence are related by the word between them."""

    name = "names-1"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        return [self._extract(chunk) for chunk in chunks]

    def _extract(self, chunk: Chunk) -> Extraction:
        found: dict[str, list[re.Match[str]]] = {}
        for match in re.finditer(r"[A-Z]\w+", chunk.text):
            found.setdefault(match.group().lower(), []).append(match)
        start = chunk.span.start
        mentions = tuple(
            Mention(
                chunk.id,
                form,
                matches[0].group(),
                spans=tuple(Span(start + m.start(), start + m.end()) for m in matches),
                about=min(1.0, len(matches) / 4),
            )
            for form, matches in found.items()
        )
        pairs = re.findall(r"([A-Z]\w+) ([a-z]+) ([A-Z]\w+)", chunk.text)
        relations = {
            (a.lower(), verb, b.lower()): Relation(
                chunk.id, entity_id(a.lower()), verb, entity_id(b.lower())
            )
            for a, verb, b in pairs
        }
        return Extraction(chunk.id, mentions, tuple(relations.values()))


class CountingEmbedder:
    """An embedder that counts what passes through it."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.passages = 0
        self.texts = 0

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    def embed(self, texts):
        self.texts += len(texts)
        return self._inner.embed(texts)

    def embed_passages(self, passages):
        self.passages += len(passages)
        return self._inner.embed_passages(passages)


class LatinEmbedder(HashingEmbedder):
    """An embedder that was made for a few languages in Latin script."""

    languages = frozenset({"en", "de"})

    def __init__(self, dimension: int = 32) -> None:
        super().__init__(dimension)
        self.name = f"latin:{dimension}"
        self.seen: list[str] = []

    def embed(self, texts):
        self.seen += texts
        return super().embed(texts)

    def embed_passages(self, passages):
        self.seen += [passage.text for passage in passages]
        return super().embed_passages(passages)


def make_stages(embedder: Embedder | None, *, settings: str = "s1") -> IndexingStages:
    return IndexingStages(
        ParagraphSplitter(), NameExtractor(), Embedding(embedder), Tiers(settings)
    )


def make_text(random_: random.Random, *, paragraphs: int = 3) -> str:
    """Paragraphs of sentences over a few names, so that documents share entities."""

    def sentence() -> str:
        a, b = random_.sample(NAMES, 2)
        # Two spellings, so that removing a chunk may change an entity's best name.
        a = a.upper() if random_.random() < 0.3 else a
        return f"{a} {random_.choice(WORDS)} {b} in room {random_.randrange(30)}"

    return "\n\n".join(
        "\n".join(sentence() for _ in range(random_.randint(1, 4))) for _ in range(paragraphs)
    )


def text_source(uri: str, text: str) -> SourceFile:
    """Return a source whose size and time follow from its text."""
    stamp = int(content_id(text)[:12], 16)

    def read() -> Document:
        if text.startswith("BROKEN"):
            raise LoadError("broken", f"{uri} is broken")
        return Document(uri, text, title=f"On {uri}")

    return SourceFile(uri, read, root="/", size=len(text), modified_ns=stamp)


def file_source(path: Path) -> SourceFile:
    """A source read from a file of the test."""
    stat = path.stat()
    return SourceFile(
        path.name,
        lambda: Document(path.name, path.read_text("utf-8"), title=path.stem),
        root=str(path.parent),
        size=stat.st_size,
        modified_ns=stat.st_mtime_ns,
    )
