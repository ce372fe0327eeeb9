"""Read INI files, extract their options, and find the passages that set an option."""

import re
from collections.abc import Sequence
from configparser import ConfigParser
from dataclasses import replace

from knotwork.plugins import (
    BlockWriter,
    Content,
    Source,
    Store,
    decode_text,
    make_extractor,
    normal_form,
    rank_evidence,
)
from knotwork.records import Chunk, Document, Evidence, Extraction, Mention, Query, Span

OPTION = re.compile(r"^([\w.-]+) = ", re.MULTILINE)


class IniLoader:
    """INI files: a section for each section, a definition for each option."""

    name, suffixes, signatures = "ini", (".ini", ".cfg"), ()

    def load(self, source: Source) -> Content:
        writer, parser = BlockWriter(source), ConfigParser(interpolation=None)
        parser.read_string(decode_text(source))
        for section in parser.sections():
            writer.heading(1, section)
            for key, value in parser[section].items():
                writer.paragraph(f"{key} = {value}.", term=key)
        return writer.content("text/plain", title=source.name)


class OptionExtractor:
    """Options of INI files, beside what rules find."""

    def __init__(self) -> None:
        self._rules = make_extractor("rules")
        self.name = f"options-1 {self._rules.name}"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        return [_add_options(*pair) for pair in zip(chunks, self._rules.extract(document, chunks))]


def _add_options(chunk: Chunk, extraction: Extraction) -> Extraction:
    mentions = {mention.normal_form: mention for mention in extraction.mentions}
    for match in OPTION.finditer(chunk.text):
        form, start = normal_form(match[1]), chunk.span.start
        span = Span(start + match.start(1), start + match.end(1))
        mentions[form] = Mention(chunk.id, form, match[1], "option", (span,), about=1.0)
    return replace(extraction, mentions=tuple(mentions.values()))


class OptionRetriever:
    """Finds the passages about the options, and other entities, that are words of the question."""

    name = "options"

    def __init__(self, *, store: Store) -> None:
        self._store = store

    def retrieve(self, query: Query) -> Evidence:
        forms = {normal_form(word) for word in re.findall(r"[\w.-]+", query.text)}
        named = [entity.id for entity in self._store.graph.lookup(forms).values()]
        found = self._store.graph.about(named, fan=query.k).values()
        scores = {chunk.id: chunk.score for chunks in found for chunk in chunks}
        return rank_evidence(query, scores, retriever=self.name, store=self._store)
