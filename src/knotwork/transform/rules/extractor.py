"""The extractor: from a document's chunks to their mentions and relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    KEYWORD,
    KEYWORD_TYPES,
    Chunk,
    Description,
    Document,
    Extraction,
    Mention,
    Relation,
    Span,
    content_id,
)
from knotwork.text.names import normal_form
from knotwork.transform.rules.aboutness import (
    Topic,
    heading_weights,
    salience,
    salient_topic,
    strongest,
    subject_topics,
    title_topics,
    title_weight,
)
from knotwork.transform.rules.chinese import HanSentence
from knotwork.transform.rules.dictionary import Dictionary
from knotwork.transform.rules.occurrences import Occurrence
from knotwork.transform.rules.reading import AnySentence, Reading, subject_term
from knotwork.transform.rules.relations import (
    Link,
    co_occurrence,
    entity_id,
    han_links,
    sentence_links,
)
from knotwork.transform.rules.settings import RuleSettings

VERSION = 4
"""Raised with every change of what the rules extract."""


class RuleExtractor:
    """Finds entities and relations by rules, in English and Chinese; implements `Extractor`."""

    def __init__(
        self, *, dictionary: Dictionary | None = None, settings: RuleSettings | None = None
    ) -> None:
        self.settings = settings or RuleSettings()
        self.dictionary = dictionary or Dictionary()
        self.name = f"rules-{VERSION}"
        if self.dictionary.entries:
            self.name += f"+dictionary-{self.dictionary.fingerprint}"
        if self.settings != RuleSettings():
            self.name += f"+settings-{content_id(repr(self.settings))}"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order."""
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        reading = Reading(document, leaves, dictionary=self.dictionary, settings=self.settings)
        extractions: list[Extraction] = []
        before: Chunk | None = None
        for chunk in leaves:
            extractions.append(_ChunkReading(reading, chunk, before).extraction())
            before = chunk
        return extractions


class _ChunkReading:
    """The names of one chunk, on their way to mentions and relations."""

    def __init__(self, reading: Reading, chunk: Chunk, before: Chunk | None) -> None:
        self.reading = reading
        self.chunk = chunk
        self.before = before
        self.settings = reading.settings
        self.spans: dict[str, dict[Span, None]] = {}
        self.surfaces: dict[str, Counter[str]] = {}
        self.defined: dict[str, str] = {}
        self.sentences: list[tuple[AnySentence, list[Occurrence]]] = []
        self._gather()
        self._gather_definitions()
        self._resolve_surnames()

    def extraction(self) -> Extraction:
        counts = {form: len(spans) for form, spans in self.spans.items()}
        topics = strongest(self._topics(counts))
        about = salience(counts, self._aliases(), self.settings)
        for form, topic in topics.items():
            about[form] = max(about.get(form, 0.0), topic.about)
        kept = self._kept(about, counts)
        mentions = tuple(self._mention(form, topics.get(form), about[form]) for form in kept)
        subject = max(topics.values(), key=lambda t: t.about).form if topics else ""
        relations = tuple(self._relations(set(kept), subject))
        descriptions = tuple(
            Description(self.chunk.id, form, text)
            for form, text in self.defined.items()
            if form in about
        )
        return Extraction(self.chunk.id, mentions, relations, descriptions)

    def _gather(self) -> None:
        phrases: set[str] = set()
        budget = self.settings.phrases_per_chunk
        for sentence in self.reading.sentences_of(self.chunk):
            kept: list[Occurrence] = []
            for name in self.reading.names_of(sentence):
                if name.form in self.reading.phrases and name.form not in phrases:
                    if len(phrases) >= budget:
                        continue
                    phrases.add(name.form)
                if len(name.form) < 2 or (not name.type and name.form.isdigit() and name.part):
                    continue
                kept.append(name)
                self._add(name.form, sentence, name)
            self.sentences.append((sentence, kept))

    def _gather_definitions(self) -> None:
        """Mention the terms that are defined here where they stand, as they are written there."""
        for definition in self.reading.definitions:
            if self.chunk.span.start <= definition.term.start < self.chunk.span.end:
                self._add_at(definition.form, definition.term, definition.name)
                self.defined[definition.form] = definition.text

    def _add(self, form: str, sentence: AnySentence, name: Occurrence) -> None:
        span = Span(sentence.start + name.start, sentence.start + name.end)
        self._add_at(form, span, sentence.text[name.start : name.end])

    def _add_at(self, form: str, span: Span, surface: str) -> None:
        spans = self.spans.setdefault(form, {})
        if span not in spans:
            spans[span] = None
            self.surfaces.setdefault(form, Counter())[surface] += 1

    def _resolve_surnames(self) -> None:
        """Let a lone surname mention the full name that the document introduces elsewhere."""
        for short, full in {**self.reading.surnames, **self.reading.aliases}.items():
            if short in self.spans and full not in self.spans:
                self.spans[full] = dict(self.spans[short])

    def _aliases(self) -> dict[str, str]:
        known = {**self.reading.surnames, **self.reading.aliases}
        return {short: full for short, full in known.items() if short in self.spans}

    def _topics(self, counts: dict[str, int]) -> list[Topic]:
        reading, chunk, settings = self.reading, self.chunk, self.settings
        topics: list[Topic] = []
        titles = [reading.headings.get(heading) for heading in chunk.headings]
        if reading.title is not None:
            weight = title_weight(chunk, headings=len(titles), settings=settings)
            parts = reading.title_parts(reading.title)
            topics += title_topics(reading.title, parts, weight=weight, settings=settings)
        for title, weight in zip(
            titles, heading_weights(chunk, self.before, settings), strict=True
        ):
            if title is not None:
                parts = reading.title_parts(title)
                topics += title_topics(title, parts, weight=weight, settings=settings)
        if reading.title is None:
            topics += self._subject_topics(counts)
        elif chunk.ordinal and not chunk.headings:
            topics += self._own_subject(settings.later_subject_about)
        return topics

    def _subject_topics(self, counts: dict[str, int]) -> list[Topic]:
        """Return what an untitled text is about, from its first sentence or its mentions."""
        settings, subject = self.settings, self.reading.subject
        first = self.chunk.ordinal == 0
        topics: list[Topic] = []
        if subject is not None:
            defined = self.reading.defines_subject
            weight = settings.subject_about if defined else settings.opening_about
            if not first:
                weight *= settings.later_title_about
            topics += subject_topics(subject.text, subject.form, weight=weight, settings=settings)
        elif first and not self.chunk.headings:
            form = salient_topic(counts, self.reading.types)
            if form:
                name = self._surface(form, form)
                topics += subject_topics(
                    name, form, weight=settings.opening_about, settings=settings
                )
        if not first and not self.chunk.headings:
            topics += self._own_subject(settings.later_subject_about)
        return topics

    def _own_subject(self, weight: float) -> list[Topic]:
        for sentence in self.reading.sentences_of(self.chunk)[:1]:
            subject = subject_term(sentence)
            if subject is not None and subject.form in self.spans:
                return [Topic(subject.text, subject.form, weight)]
        return []

    def _kept(self, about: dict[str, float], counts: dict[str, int]) -> list[str]:
        most = self.settings.entities_per_chunk
        if len(about) <= most:
            return list(about)
        ranked = sorted(about, key=lambda form: (-about[form], -counts.get(form, 0), form))
        return ranked[:most]

    def _surface(self, form: str, fallback: str) -> str:
        surfaces = self.surfaces.get(form)
        return max(surfaces, key=surfaces.__getitem__) if surfaces else fallback

    def _mention(self, form: str, topic: Topic | None, about: float) -> Mention:
        name = self._surface(form, topic.name if topic else self.reading.surface(form))
        spans = tuple(sorted(self.spans.get(form, ())))
        kind = self.reading.types.get(form, "")
        if form not in self.reading.entities and kind not in KEYWORD_TYPES:
            kind = KEYWORD
        return Mention(self.chunk.id, form, " ".join(name.split()), kind, spans, round(about, 4))

    def _relations(self, kept: set[str], subject: str) -> list[Relation]:
        weights: Counter[Link] = Counter()
        spans: dict[Link, Span] = {}
        shown = kept & self.reading.entities
        subject = subject if subject in shown else ""
        for sentence, names in self.sentences:
            mains = [self._typed(n) for n in names if not n.part and n.form in shown]
            if isinstance(sentence, HanSentence):
                links = han_links(sentence, mains, settings=self.settings)
            else:
                links = sentence_links(sentence, mains, subject=subject, settings=self.settings)
            for item in links:
                weights[item] += 1
                spans.setdefault(item, Span(sentence.start, sentence.end))
        for definition in self.reading.definitions:
            whole = normal_form(definition.whole)
            if definition.form in self.defined and definition.form in shown and whole in shown:
                relation = "option of" if definition.type == "OPTION" else "parameter of"
                item = Link(definition.form, relation, whole)
                weights[item], spans[item] = 1, definition.term
        named = {
            co_occurrence(short, full)
            for short, full in self._aliases().items()
            if self._is_sure(short, full)
        }
        strongest_links = sorted(
            (item for item in weights if item not in named),
            key=lambda item: (item.relation == CO_OCCURRENCE_RELATION, -weights[item]),
        )
        relations = [
            self._relation(item, weights[item], spans[item])
            for item in strongest_links[: self.settings.relations_per_chunk]
        ]
        relations += [
            self._relation(Link(short, ALIAS_RELATION, full), len(self.spans[short]), None)
            for short, full in self._aliases().items()
            if short in shown and full in shown and short != full and self._is_sure(short, full)
        ]
        return relations

    def _is_sure(self, short: str, full: str) -> bool:
        """Return whether an alias is stated, or a surname: other short names only find chunks."""
        stated = self.reading.aliases.get(short) == full
        return stated or self.reading.types.get(full) == "PERSON"

    def _typed(self, name: Occurrence) -> Occurrence:
        return name._replace(type=self.reading.types.get(name.form, name.type))

    def _relation(self, item: Link, weight: int, span: Span | None) -> Relation:
        source, target = entity_id(item.source), entity_id(item.target)
        return Relation(self.chunk.id, source, item.relation, target, weight, span)
