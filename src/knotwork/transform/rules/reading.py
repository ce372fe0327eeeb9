"""One document read as a whole: its names, and the evidence that its chunks share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from knotwork.records import Chunk, Document, Span
from knotwork.text.names import normal_form, without_suffix
from knotwork.text.sentences import split_sentences
from knotwork.transform.rules.aliases import find_aliases, is_acronym, surname_aliases
from knotwork.transform.rules.chinese import HanSentence, count_nouns, find_han_names, is_chinese
from knotwork.transform.rules.dictionary import Dictionary
from knotwork.transform.rules.english import Evidence, find_names, gather_evidence
from knotwork.transform.rules.matching import Term, TermMatcher
from knotwork.transform.rules.naming import Place, Places, english_entities, han_entities
from knotwork.transform.rules.occurrences import Occurrence
from knotwork.transform.rules.phrases import repeated_phrases
from knotwork.transform.rules.settings import RuleSettings
from knotwork.transform.rules.subjects import defines_subject, find_subject
from knotwork.transform.rules.technical import (
    IDENTIFIER,
    is_command,
    noun_type,
    read_definitions,
)
from knotwork.transform.rules.titles import Title, read_title
from knotwork.transform.rules.tokens import Sentence
from knotwork.transform.rules.types import context_type, name_type, title_type
from knotwork.transform.rules.vocabulary import STARTERS, common_words

AnySentence = Sentence | HanSentence

_EMPHASIS = re.compile(r"(\*\*|__|(?<![\w*])[*_])(?=\S)([^*_\n]{2,60}?)(?<=\S)\1(?!\w)")
_BOLD = frozenset({"**", "__"})


class Reading:
    """What the rules know of a document before they turn to its chunks."""

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
        self.sentences = _read_sentences(document, chunks)
        english = [s for s in self.sentences.values() if isinstance(s, Sentence)]
        self.evidence: Evidence = gather_evidence(english)
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
        places = Places(document, chunks)
        self._places = {span: places.of(s.text, span) for span, s in self.sentences.items()}
        self.entities = {normal_form(entry.term) for entry in dictionary.entries}
        """Normal forms of the names that are entities; the others are keywords."""
        self.names = self._find_names()
        self.types = self._find_types(document)
        self._name_defined()
        self.aliases, self.surnames = self._find_aliases()

    def sentences_of(self, chunk: Chunk) -> list[AnySentence]:
        """Return the sentences of a chunk, in order."""
        return [self.sentences[span] for span in _spans_of(chunk)]

    def names_of(self, sentence: AnySentence) -> list[Occurrence]:
        """Return the names of a sentence, with offsets into it."""
        return self.names[Span(sentence.start, sentence.end)]

    def title_parts(self, title: Title) -> list[tuple[str, str]]:
        """Return (name, normal form) of the names inside a phrase of a title."""
        if title.form and not title.is_phrase:
            return []
        sentence = _read(title.text, 0)
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
        """Return a name as the document first writes it."""
        if self._surfaces is None:
            self._surfaces = {}
            for span, names in self.names.items():
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
        for span, sentence in self.sentences.items():
            place = self._places[span]
            if isinstance(sentence, HanSentence):
                names[span], nouns[span] = find_han_names(sentence)
                self.entities.update(han_entities(names[span], sentence.text, place))
            else:
                names[span] = found = find_names(sentence, self.evidence)
                self.entities.update(english_entities(sentence, found, place, self.evidence))
        counts = count_nouns(nouns.values())
        for span, found in nouns.items():
            names[span] = _merged(names[span], (n for n in found if self._repeated(n, counts)))
        for span, sentence in self.sentences.items():
            for matcher in (self.dictionary.matcher, self._terms, self._phrase_terms):
                if matcher:
                    names[span] = _merged(names[span], _matches(matcher, sentence))
        return names

    def _repeated(self, noun: Occurrence, counts: Counter[str]) -> bool:
        settings = self.settings
        single = noun.end - noun.start <= 3
        needed = settings.single_noun_repeats if single else settings.phrase_repeats
        return counts[noun.form] >= needed

    def _find_types(self, document: Document) -> dict[str, str]:
        """Return the type of each name: from its own words, else by vote of its surroundings."""
        types: dict[str, str] = {}
        votes: dict[str, Counter[str]] = {}
        for span, names in self.names.items():
            text = self.sentences[span].text
            for name in names:
                known = types.get(name.form)
                if known is None:
                    surface = text[name.start : name.end]
                    known = types[name.form] = name.type or name_type(surface, name.form)
                elif not known and name.type:
                    known = types[name.form] = name.type
                if known in {"", IDENTIFIER} and not name.part:
                    kind = self._type_here(text, name, known)
                    votes.setdefault(name.form, Counter())[kind] += 1
        for form, counter in votes.items():
            del counter[""]
            if counter and types[form] in {"", IDENTIFIER}:
                types[form] = min(counter, key=lambda kind: (-counter[kind], kind))
        if self.title is not None and title_type(document.title):
            types[self.title.form] = title_type(document.title)
        return types

    def _type_here(self, text: str, name: Occurrence, known: str) -> str:
        """Return the type that the surroundings of a name show, or ``""``."""
        surface = text[name.start : name.end]
        if known == IDENTIFIER:
            return noun_type(text, name.start, name.end)
        return "COMMAND" if is_command(surface) else context_type(text, name.start, name.end)

    def _name_defined(self) -> None:
        """Take what definitions say of their terms, and the title where it names something."""
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
        """Return whether a sentence names the title: with a capital that prose would not have,
        or in Chinese.
        """
        return any(
            name.form == title.form
            and any(
                is_chinese(word) or (word[0].isupper() and word.lower() not in common_words())
                for word in self.sentences[span].text[name.start : name.end].split()
            )
            for span, names in self.names.items()
            if self._places[span] is Place.PROSE
            for name in names
        )

    def _find_aliases(self) -> tuple[dict[str, str], dict[str, str]]:
        stated: dict[str, str] = {}
        for span, names in self.names.items():
            for alias in find_aliases(self.sentences[span].text, names):
                if alias.full not in stated and stated.get(alias.full) != alias.short:
                    stated.setdefault(*alias)
                    if is_acronym(self.surface(alias.short)):
                        self.entities.update(alias)
        stated |= _dictionary_aliases(self.dictionary, stated)
        forms = [n.form for names in self.names.values() for n in names]
        alone = {n.form for names in self.names.values() for n in names if not n.part}
        if self.title is not None and self.title.form and not self.title.is_phrase:
            forms.append(self.title.form)
        surnames = surname_aliases(self.types, forms, alone)
        for short, full in surnames.items():
            if self.types.get(full) == "PERSON" and not self.types.get(short):
                self.types[short] = "PERSON"
        return stated, surnames


def _is_term(text: str) -> bool:
    """Say whether emphasised words can be a term, rather than words said loudly."""
    title = read_title(text, longest_words=4)
    if title is None or not title.form:
        return False
    return " " in title.form or (title.form not in STARTERS and title.form not in common_words())


def _opening(reading: Reading, chunks: Sequence[Chunk]) -> tuple[Term | None, bool]:
    """Return the subject of the first sentence, and whether the sentence defines it."""
    for chunk in chunks[:1]:
        for sentence in reading.sentences_of(chunk)[:1]:
            span = find_subject(sentence)
            return subject_term(sentence), span is not None and defines_subject(sentence, span[1])
    return None, False


def subject_term(sentence: AnySentence) -> Term | None:
    """Return the subject of a first sentence as a term to look for."""
    span = find_subject(sentence)
    text = sentence.text[slice(*span)].strip("\"“”'‘’*_#` ") if span else ""
    return Term(text) if len(normal_form(text)) > 1 else None


def _read(text: str, start: int) -> AnySentence:
    return HanSentence(text, start) if is_chinese(text) else Sentence(text, start)


def _spans_of(chunk: Chunk) -> Sequence[Span]:
    return chunk.sentences or split_sentences(chunk.text, start=chunk.span.start)


def _read_sentences(document: Document, chunks: Iterable[Chunk]) -> dict[Span, AnySentence]:
    sentences: dict[Span, AnySentence] = {}
    for chunk in chunks:
        for span in _spans_of(chunk):
            if span not in sentences:
                sentences[span] = _read(document.text[span.start : span.end], span.start)
    return sentences


def _matches(matcher: TermMatcher, sentence: AnySentence) -> list[Occurrence]:
    if isinstance(sentence, HanSentence):
        return matcher.find_characters(sentence.simplified)
    return matcher.find_words(sentence.tokens)


def _merged(names: list[Occurrence], found: Iterable[Occurrence]) -> list[Occurrence]:
    """Add found terms to names; of two where one holds the other, the inner becomes a part."""
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


def _dictionary_aliases(dictionary: Dictionary, stated: dict[str, str]) -> dict[str, str]:
    return {
        short: normal_form(entry.term)
        for short, entry in dictionary.full_names.items()
        if short not in stated
    }
