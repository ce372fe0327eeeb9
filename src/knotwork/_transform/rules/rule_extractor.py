"""Extract the mentions and relations of a document by rules, in English and Chinese.

`DocumentReading` reads the document as a whole first: its names, their types and aliases, and the
evidence that its chunks share.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from knotwork._cancellation import checked
from knotwork._run import phase, reported
from knotwork._text.names import normal_form, without_suffix
from knotwork._text.sentences import split_sentences
from knotwork._transform.rules.aboutness import (
    Title,
    WeightedTopic,
    defines_subject,
    find_subject,
    heading_weights,
    read_title,
    salience,
    salient_topic,
    strongest_topics,
    subject_topics,
    title_topics,
    title_weight,
)
from knotwork._transform.rules.chinese_sentences import (
    HanSentence,
    count_nouns,
    find_han_names,
    is_chinese,
)
from knotwork._transform.rules.clauses import SentenceRelation
from knotwork._transform.rules.dictionary import Dictionary, Term, TermMatcher
from knotwork._transform.rules.english_names import (
    NameEvidence,
    find_names,
    gather_evidence,
    repeated_phrases,
)
from knotwork._transform.rules.entity_names import (
    SentencePlace,
    SentencePlaces,
    english_entities,
    find_aliases,
    find_stated_names,
    han_entities,
    is_of_another,
    looks_like_acronym,
    surname_aliases,
)
from knotwork._transform.rules.lexicon import (
    IDENTIFIER,
    STARTERS,
    Definition,
    EnglishSentence,
    Occurrence,
    common_words,
    context_type,
    defining_noun,
    is_command,
    name_type,
    noun_type,
    read_definitions,
    shape_type,
    title_type,
    type_of_noun,
)
from knotwork._transform.rules.rule_settings import RuleSettings
from knotwork._transform.rules.sentence_relations import (
    co_occurrence,
    sentence_links,
    types_by_relation,
)
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    KEYWORD,
    KEYWORD_TYPES,
    BlockKind,
    Chunk,
    Description,
    Document,
    Extraction,
    Mention,
    Relation,
    Span,
    content_id,
    entity_id,
)

RULES_VERSION = 6
"""Increment it whenever the results of the rules change."""


class RuleExtractor:
    """Finds entities and relations by rules, in English and Chinese; implements `Extractor`."""

    def __init__(
        self, *, dictionary: Dictionary | None = None, settings: RuleSettings | None = None
    ) -> None:
        self.settings = settings or RuleSettings()
        self.dictionary = dictionary or Dictionary()
        self.name = f"rules-{RULES_VERSION}"
        if self.dictionary.entries:
            self.name += f"+dictionary-{self.dictionary.fingerprint}"
        if self.settings != RuleSettings():
            self.name += f"+settings-{content_id(repr(self.settings))}"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return one extraction per leaf chunk of one document, in order."""
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        with phase(0.0, 0.7):
            reading = DocumentReading(
                document, leaves, dictionary=self.dictionary, settings=self.settings
            )
        before = [None, *leaves]
        with phase(0.7, 1.0):
            read = [
                _ChunkReading(reading, chunk, before[number])
                for number, chunk in enumerate(checked(reported(leaves)))
            ]
            return [each.extraction() for each in checked(read)]


class _ChunkReading:
    """Builds the mentions and relations of one chunk from its names."""

    def __init__(self, reading: DocumentReading, chunk: Chunk, before: Chunk | None) -> None:
        self.reading = reading
        self.chunk = chunk
        self.before = before
        self.settings = reading.settings
        self.spans: dict[str, dict[Span, None]] = {}
        self.surfaces: dict[str, Counter[str]] = {}
        self.defined: dict[str, str] = {}
        self.sentences: list[tuple[AnySentence, list[Occurrence]]] = []
        self._gather()
        known = {**reading.surnames, **reading.aliases}
        for short, full in known.items():  # a lone surname mentions the full name
            if short in self.spans:
                self.spans.setdefault(full, dict(self.spans[short]))
        self.aliases = {short: full for short, full in known.items() if short in self.spans}
        self._read_relations()

    def _read_relations(self) -> None:
        counts = {form: len(spans) for form, spans in self.spans.items()}
        topics = strongest_topics(self._topics(counts))
        about = salience(counts, self.aliases, self.settings)
        for form, topic in topics.items():
            about[form] = max(about.get(form, 0.0), topic.about)
        kept = list(about)
        if len(kept) > self.settings.entities_per_chunk:
            kept.sort(key=lambda form: (-about[form], -counts.get(form, 0), form))
            del kept[self.settings.entities_per_chunk :]
        self.about, self.topics, self.kept = about, topics, kept
        self.relations = tuple(self._relations(set(kept), self._subject(topics, kept)))

    def extraction(self) -> Extraction:
        """Return what was read, with the types that all chunks of the document show."""
        mentions = tuple(
            self._mention(form, self.topics.get(form), self.about[form]) for form in self.kept
        )
        descriptions = tuple(
            Description(self.chunk.id, form, text)
            for form, text in self.defined.items()
            if form in self.about
        )
        return Extraction(self.chunk.id, mentions, self.relations, descriptions)

    def _gather(self) -> None:
        phrases: set[str] = set()
        budget = self.settings.phrases_per_chunk
        for sentence in self.reading.sentences_of(self.chunk):
            kept: list[Occurrence] = []
            for name in self.reading.names[Span(sentence.start, sentence.end)]:
                if name.form in self.reading.phrases and name.form not in phrases:
                    if len(phrases) >= budget:
                        continue
                    phrases.add(name.form)
                if len(name.form) < 2 or (not name.type and name.form.isdigit() and name.part):
                    continue
                kept.append(name)
                span = Span(sentence.start + name.start, sentence.start + name.end)
                self._add(name.form, span, sentence.text[name.start : name.end])
            self.sentences.append((sentence, kept))
        for definition in self.reading.defined_in(self.chunk.span):
            self._add(definition.form, definition.term, definition.name)
            self.defined[definition.form] = definition.text

    def _add(self, form: str, span: Span, surface: str) -> None:
        spans = self.spans.setdefault(form, {})
        if span not in spans:
            spans[span] = None
            self.surfaces.setdefault(form, Counter())[surface] += 1

    def _topics(self, counts: dict[str, int]) -> list[WeightedTopic]:
        reading, chunk, settings = self.reading, self.chunk, self.settings
        topics: list[WeightedTopic] = []
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

    def _subject_topics(self, counts: dict[str, int]) -> list[WeightedTopic]:
        """Return the topics of an untitled text, from its first sentence or its mentions."""
        settings, subject = self.settings, self.reading.subject
        first = self.chunk.ordinal == 0
        topics: list[WeightedTopic] = []
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

    def _own_subject(self, weight: float) -> list[WeightedTopic]:
        for sentence in self.reading.sentences_of(self.chunk)[:1]:
            subject = subject_term(sentence)
            if subject is not None and subject.form in self.spans:
                return [WeightedTopic(subject.text, subject.form, weight)]
        return []

    def _surface(self, form: str, fallback: str) -> str:
        surfaces = self.surfaces.get(form)
        return max(surfaces, key=surfaces.__getitem__) if surfaces else fallback

    def _mention(self, form: str, topic: WeightedTopic | None, about: float) -> Mention:
        name = self._surface(form, topic.name if topic else self.reading.surface(form))
        spans = tuple(sorted(self.spans.get(form, ())))
        kind = self.reading.types.get(form, "")
        if form not in self.reading.entities and kind not in KEYWORD_TYPES:
            kind = KEYWORD
        return Mention(self.chunk.id, form, " ".join(name.split()), kind, spans, round(about, 4))

    def _subject(self, topics: Mapping[str, WeightedTopic], kept: Iterable[str]) -> str:
        """Return the entity that a pronoun means: the topic, or the full name of a short title."""
        if not topics or not (self.reading.title or self.reading.defines_subject):
            return ""
        topic = max(topics.values(), key=lambda t: t.about).form
        shown = self.reading.entities
        if topic in shown:
            return topic
        first, *_, last = f"{topic} {topic}".split()
        return next((f for f in kept if f in shown and {first, last} <= set(f.split())), "")

    def _relations(self, kept: set[str], subject: str) -> list[Relation]:
        weights: Counter[SentenceRelation] = Counter()
        spans: dict[SentenceRelation, Span] = {}
        shown = kept & self.reading.entities
        topic = (
            Occurrence(0, 0, subject, self.reading.types.get(subject, ""))
            if subject in shown
            else None
        )
        kinds = {*self.reading.kinds.get(subject, ()), subject.rpartition(" ")[2]}
        for sentence, names in self.sentences:
            mains = [
                n._replace(type=self.reading.types.get(n.form, n.type))
                for n in names
                if n.form in shown
            ]
            columns = self.reading.columns.get(Span(sentence.start, sentence.end), "")
            links = sentence_links(
                sentence, mains, subject=topic, kinds=kinds, columns=columns, settings=self.settings
            )
            for item in links:
                self.reading.note_types(item)
                weights[item] += 1
                spans.setdefault(item, Span(sentence.start, sentence.end))
        for definition in self.reading.defined_as(self.defined):
            whole = normal_form(definition.whole)
            if definition.form in shown and whole in shown:
                relation = "option of" if definition.type == "OPTION" else "parameter of"
                item = SentenceRelation(definition.form, relation, whole)
                weights[item], spans[item] = 1, definition.term
        # An alias that is stated, or is a surname; other short names only find chunks.
        sure = [
            (short, full)
            for short, full in self.aliases.items()
            if self.reading.aliases.get(short) == full or self.reading.types.get(full) == "PERSON"
        ]
        named = {co_occurrence(*alias) for alias in sure}
        strongest_links = sorted(
            (item for item in weights if item not in named),
            key=lambda item: (item.relation == CO_OCCURRENCE_RELATION, -weights[item]),
        )[: self.settings.relations_per_chunk]
        for short, full in sure:
            if short in shown and full in shown and short != full:
                item = SentenceRelation(short, ALIAS_RELATION, full)
                weights[item] = len(self.spans[short])
                strongest_links.append(item)
                if short in self.reading.dictionary.full_names:  # its span is the name itself
                    spans[item] = next(iter(self.spans[short]))
        return [
            Relation(
                self.chunk.id,
                entity_id(item.source),
                item.relation,
                entity_id(item.target),
                weights[item],
                spans.get(item),
            )
            for item in strongest_links
        ]


AnySentence = EnglishSentence | HanSentence

_EMPHASIS = re.compile(r"(\*\*|__|(?<![\w*])[*_])(?=\S)([^*_\n]{2,60}?)(?<=\S)\1(?!\w)")
_BOLD = frozenset({"**", "__"})


class DocumentReading:
    """The evidence of a whole document, gathered before its chunks are extracted."""

    def __init__(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        dictionary: Dictionary,
        settings: RuleSettings,
    ) -> None:
        self._surfaces: dict[str, str] | None = None
        self.settings = settings
        self.dictionary = dictionary
        with phase(0.0, 0.35):
            self.sentences = _read_sentences(document, chunks)
        self.columns = _columns_of_rows(document)
        """The names of the columns of each row of a table that has them."""
        english = [s for s in self.sentences.values() if isinstance(s, EnglishSentence)]
        self.evidence: NameEvidence = gather_evidence(english)
        longest = settings.longest_title_words
        self.title = read_title(document.title, longest_words=longest)
        self.headings = {
            heading: read_title(heading, longest_words=longest, heading=True)
            for chunk in chunks
            for heading in chunk.headings
        }
        self.subject, self.defines_subject = (None, False) if self.title else _opening(self, chunks)
        self.phrases = repeated_phrases(english, repeats=settings.phrase_repeats)
        self._terms = TermMatcher(self._known_terms(document))
        self._phrase_terms = TermMatcher(Term(phrase) for phrase in self.phrases)
        self.definitions = read_definitions(document)
        # A log may define a term in each of its lines: no chunk goes through all of them.
        found = enumerate(self.definitions)
        self._defined_at = sorted((each.term.start, number) for number, each in found)
        self._defined_as: dict[str, list[int]] = {}
        for number, each in enumerate(self.definitions):
            self._defined_as.setdefault(each.form, []).append(number)
        places = SentencePlaces(document, chunks)
        self._places = {
            span: places.of(s.text, span) for span, s in checked(self.sentences.items())
        }
        self.entities = {normal_form(entry.term) for entry in dictionary.entries}
        self.entities.update(dictionary.full_names)
        """Normal forms of the names that are entities; the others are keywords."""
        with phase(0.4, 0.9):
            self.names = self._find_names()
        self.kinds: dict[str, set[str]] = {}
        """The nouns that say what a name is: "film" of "Jaws is a film"."""
        self.types = self._find_types(document)
        self._name_defined()
        self.aliases, self.surnames = self._find_aliases()
        for one, other in self.aliases.items():
            known = self.types.get(other) or self.types.get(one, "")
            self.types.update({form: self.types.get(form) or known for form in (one, other)})
        self._type_by_shape()

    def sentences_of(self, chunk: Chunk) -> list[AnySentence]:
        """Return the sentences of a chunk, in order."""
        return [self.sentences[span] for span in _spans_of(chunk)]

    def title_parts(self, title: Title) -> list[tuple[str, str]]:
        """Return (name, normal form) of the names inside a phrase of a title."""
        if title.form and not title.is_phrase:
            return []
        sentence = _read_sentence(title.text, 0)
        if isinstance(sentence, HanSentence):
            found = find_han_names(sentence)[0]
        else:
            found = find_names(sentence, self.evidence)
        parts = {
            name.form: title.text[name.start : name.end]
            for name in found
            if not name.part and name.form != title.form and name.type not in {"DATE", "NUMBER"}
        }
        return [(name, form) for form, name in parts.items()]

    def surface(self, form: str) -> str:
        """Return the document's first spelling of a name."""
        if self._surfaces is None:
            self._surfaces = {}
            for span, names in checked(self.names.items()):
                text = self.sentences[span].text
                for name in names:
                    self._surfaces.setdefault(name.form, text[name.start : name.end])
            for entry in self.dictionary.entries:
                self._surfaces.setdefault(normal_form(entry.term), entry.term)
        return self._surfaces.get(form, form)

    def _known_terms(self, document: Document) -> list[Term]:
        titles = [self.title, *self.headings.values()]
        terms = [Term(without_suffix(t.text)) for t in titles if t and t.form and not t.is_phrase]
        if self.title and not self.title.is_phrase and "," in self.title.text:
            terms.append(Term(self.title.text.partition(",")[0]))
        if self.subject is not None:
            terms.append(self.subject)
        for match in _EMPHASIS.finditer(document.text):
            text = match[2].strip(" :：,.")
            named = text.istitle() if match[1] not in _BOLD else any(c.isalpha() for c in text)
            if named and len(text.split()) <= 4 and len(text) <= 40 and _is_term(text):
                terms.append(Term(text))
        return terms

    def _find_names(self) -> dict[Span, list[Occurrence]]:
        names: dict[Span, list[Occurrence]] = {}
        nouns: dict[Span, list[Occurrence]] = {}
        for span, sentence in checked(reported(self.sentences.items())):
            place = self._places[span]
            if isinstance(sentence, HanSentence):
                names[span], nouns[span] = find_han_names(sentence)
                self.entities.update(han_entities(names[span], sentence.text, place))
            else:
                names[span] = found = find_names(sentence, self.evidence)
                self.entities.update(english_entities(sentence, found, place, self.evidence))
        counts = count_nouns(nouns.values()) if nouns else Counter[str]()
        single, several = self.settings.single_noun_repeats, self.settings.phrase_repeats
        for span, found in nouns.items():
            often = (
                n for n in found if counts[n.form] >= (single if n.end - n.start <= 3 else several)
            )
            names[span] = _merged(names[span], often)
        said = (find_stated_names(self.sentences[s].text, found) for s, found in names.items())
        stated = TermMatcher(Term(name) for name in dict.fromkeys(chain.from_iterable(said)))
        self.entities.update(normal_form(name) for name in stated.texts)
        for span, sentence in checked(self.sentences.items()):
            for matcher in (self.dictionary.matcher, stated, self._terms, self._phrase_terms):
                if matcher:
                    names[span] = _merged(names[span], _dictionary_matches(matcher, sentence))
        return names

    def _find_types(self, document: Document) -> dict[str, str]:  # noqa: C901
        """Return the type of each name: from its own words, else by vote over its contexts."""
        types: dict[str, str] = {}
        votes: dict[str, Counter[str]] = {}
        for span, names in checked(self.names.items()):
            text = self.sentences[span].text
            for name in names:
                known = types.get(name.form)
                if known is None:
                    surface = text[name.start : name.end]
                    known = types[name.form] = name.type or name_type(surface, name.form)
                elif not known and name.type:
                    known = types[name.form] = name.type
                if name.part:
                    continue
                if said := defining_noun(text, name.end):
                    self.kinds.setdefault(name.form, set()).add(said)
                    known = types[name.form] = known or type_of_noun(said)
                if known in {"", IDENTIFIER}:
                    place = (text, name.start, name.end)
                    if known == IDENTIFIER:
                        kind = noun_type(*place)
                    else:
                        is_named = is_command(text[name.start : name.end])
                        kind = "COMMAND" if is_named else context_type(*place)
                    votes.setdefault(name.form, Counter())[kind] += 1
        for form, counter in votes.items():
            del counter[""]
            if counter and types[form] in {"", IDENTIFIER}:
                types[form] = min(counter, key=lambda kind: (-counter[kind], kind))
        if self.title is not None and title_type(document.title):
            types[self.title.form] = title_type(document.title)
        return types

    def note_types(self, item: SentenceRelation) -> None:
        """Give names without a type the one that a relation asks of them: "born in" a place."""
        types = self.types
        for form, kind in zip(item[::2], types_by_relation(item.relation), strict=True):
            if kind and not types.get(form):
                types[form] = kind

    def defined_in(self, span: Span) -> list[Definition]:
        """Return the definitions whose terms begin in a span, in the order of the document."""
        first, end = (bisect_left(self._defined_at, (place,)) for place in (span.start, span.end))
        return [self.definitions[n] for n in sorted(n for _, n in self._defined_at[first:end])]

    def defined_as(self, forms: Iterable[str]) -> list[Definition]:
        """Return the definitions of terms by their normal forms, in the order of the document."""
        numbers = sorted(number for form in forms for number in self._defined_as[form])
        return [self.definitions[number] for number in numbers]

    def _type_by_shape(self) -> None:
        """Give entities without a type the one that their spelling shows."""
        shaped: dict[str, str] = {}
        for span, names in checked(self.names.items()):
            sentence = self.sentences[span]
            for name in names:
                if self.types.get(name.form) or name.form not in self.entities:
                    continue
                surface = sentence.text[name.start : name.end]
                in_chinese = isinstance(sentence, HanSentence)
                kind = shape_type(surface, in_chinese=in_chinese)
                shaped[name.form] = kind if shaped.get(name.form, kind) == kind else ""
        self.types.update({form: kind for form, kind in shaped.items() if kind})

    def _name_defined(self) -> None:
        for definition in self.definitions:
            if self.types.get(definition.form, "") in {"", IDENTIFIER, "TERM"}:
                self.types[definition.form] = definition.type
            self.entities.add(definition.form)
        title = self.title
        if title is not None and title.form and not title.is_phrase:
            kind = self.types.setdefault(title.form, name_type(title.text, title.form))
            if kind or self._is_named_in_prose(title):
                self.entities.add(title.form)

    def _is_named_in_prose(self, title: Title) -> bool:
        return any(
            name.form == title.form
            and any(
                is_chinese(word) or (word[0].isupper() and word.lower() not in common_words())
                for word in self.sentences[span].text[name.start : name.end].split()
            )
            for span, names in self.names.items()
            if self._places[span] is SentencePlace.PROSE
            for name in names
        )

    def _find_aliases(self) -> tuple[dict[str, str], dict[str, str]]:
        stated: dict[str, str] = {}
        for span, names in checked(self.names.items()):
            for alias in find_aliases(self.sentences[span].text, names):
                if alias.full not in stated and stated.get(alias.full) != alias.short:
                    stated.setdefault(*alias)
                    if looks_like_acronym(self.surface(alias.short)):
                        self.entities.update(alias)
        for short, entry in self.dictionary.full_names.items():
            stated.setdefault(short, normal_form(entry.term))
        forms = [n.form for names in self.names.values() for n in names]
        alone = {
            n.form
            for span, names in self.names.items()
            for n in names
            if not n.part and not is_of_another(self.sentences[span].text, n)
        }
        if self.title is not None and self.title.form and not self.title.is_phrase:
            forms.append(self.title.form)
        surnames = surname_aliases(self.types, forms, alone)
        for short, full in surnames.items():
            titled = (self.types.get(f, "") for f in self.entities if f.endswith(f" {full}"))
            if full not in self.entities and "PERSON" in titled:  # Ana Ruiz in Dr. Ana Ruiz
                self.entities.add(full)
                self.types[full] = "PERSON"
            if self.types.get(full) == "PERSON" and not self.types.get(short):
                self.types[short] = "PERSON"
        return stated, surnames


def _is_term(text: str) -> bool:
    """Return True if emphasised words can be a term, rather than words with stress."""
    title = read_title(text, longest_words=4)
    if title is None or not title.form:
        return False
    return " " in title.form or (title.form not in STARTERS and title.form not in common_words())


def _opening(reading: DocumentReading, chunks: Sequence[Chunk]) -> tuple[Term | None, bool]:
    for chunk in chunks[:1]:
        for sentence in reading.sentences_of(chunk)[:1]:
            span = find_subject(sentence)
            return subject_term(sentence), span is not None and defines_subject(sentence, span[1])
    return None, False


def subject_term(sentence: AnySentence) -> Term | None:
    """Return the subject of a first sentence as a term to find."""
    span = find_subject(sentence)
    text = sentence.text[slice(*span)].strip("\"“”'‘’*_#` ") if span else ""
    return Term(text) if len(normal_form(text)) > 1 else None


def _read_sentence(text: str, start: int) -> AnySentence:
    return HanSentence(text, start) if is_chinese(text) else EnglishSentence(text, start)


def _spans_of(chunk: Chunk) -> Sequence[Span]:
    return chunk.sentences or split_sentences(chunk.text, start=chunk.span.start)


def _columns_of_rows(document: Document) -> dict[Span, str]:
    found: dict[Span, str] = {}
    columns = ""
    for block in document.blocks:
        if block.kind is BlockKind.TABLE:
            columns = block.label
        elif block.kind is BlockKind.ROW and columns:
            found[block.span] = columns
    return found


def _read_sentences(document: Document, chunks: Sequence[Chunk]) -> dict[Span, AnySentence]:
    sentences: dict[Span, AnySentence] = {}
    for chunk in checked(reported(chunks)):
        for span in _spans_of(chunk):
            if span not in sentences:
                sentences[span] = _read_sentence(document.text[span.start : span.end], span.start)
    return sentences


def _dictionary_matches(matcher: TermMatcher, sentence: AnySentence) -> list[Occurrence]:
    if isinstance(sentence, HanSentence):
        return matcher.find_characters(sentence.simplified)
    return matcher.find_words(sentence.tokens)


def _merged(names: list[Occurrence], found: Iterable[Occurrence]) -> list[Occurrence]:
    """Add found terms to names; if one contains the other, the inner one becomes a part."""
    merged = names
    for term in found:
        same = [n for n in merged if n.start == term.start and n.end == term.end]
        if same:
            if term.type and not same[0].type:
                merged = [n._replace(type=term.type) if n in same else n for n in merged]
            continue
        overlapping = any(n.start < term.end and term.start < n.end for n in merged)
        if not overlapping:
            merged = [*merged, term]
            continue
        inside = any(n.start <= term.start and term.end <= n.end and not n.part for n in merged)
        merged = [
            n._replace(part=True) if term.start <= n.start and n.end <= term.end else n
            for n in merged
        ]
        merged.append(term._replace(part=term.part or inside))
    return merged
