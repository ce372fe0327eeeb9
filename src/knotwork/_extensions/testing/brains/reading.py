"""Read the names and facts of a text with the rules of the rule-based extractor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from knotwork._text.chinese import segment
from knotwork._text.names import STOP_NAMES
from knotwork._text.sentences import split_sentences
from knotwork._text.word_lists import word_set
from knotwork._transform.rules.chinese_sentences import HanSentence, find_han_names, is_chinese
from knotwork._transform.rules.english_names import find_names, gather_evidence
from knotwork._transform.rules.lexicon import WORD, EnglishSentence, Occurrence
from knotwork._transform.rules.name_types import ADDRESS, name_type

_LONGEST_RELATION_WORDS = 8
_LONGEST_RELATION_HAN = 24
_NO_ENTITIES = frozenset({"DATE", "NUMBER", ADDRESS})
_WORDS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|['’]s\b")
_BREAK = re.compile(r"[.;!?|\n\t]")
_TRIMMED_WORDS = word_set("en", "trimmed_around_relations")
"""Words that are stripped from both ends of the text between two names."""
_HAN_WORDS = frozenset({"n", "nz", "nr", "ns", "nt", "nrt", "v", "vn", "j", "l", "eng"})


@dataclass(slots=True)
class NamedEntity:
    """A named entity as first written, with the sentences that name it."""

    name: str
    kind: str
    sentences: list[str] = field(default_factory=list)


class StatedFact(NamedTuple):
    """Two names in a sentence, and the words between them, possibly ""."""

    source: str
    relation: str
    target: str
    sentence: str


def language_of(text: str) -> str:
    """Return "zh" for Chinese text and "en" for any other."""
    return "zh" if is_chinese(text) else "en"


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, each on one line."""
    return [" ".join(text[span.start : span.end].split()) for span in split_sentences(text)]


def read_text(text: str) -> tuple[list[NamedEntity], list[StatedFact]]:
    """Return the named entities of a text, in order of appearance, and its facts."""
    sentences = [s for s in sentences_of(text) if s]
    read = [HanSentence(s) if is_chinese(s) else EnglishSentence(s) for s in sentences]
    evidence = gather_evidence([s for s in read if isinstance(s, EnglishSentence)])
    named: dict[str, NamedEntity] = {}
    facts: list[StatedFact] = []
    for sentence in read:
        if isinstance(sentence, HanSentence):
            found = find_han_names(sentence)[0]
        else:
            found = find_names(sentence, evidence)
        names = _main_names(found)
        for name in names:
            surface = sentence.text[name.start : name.end]
            kind = name.type or name_type(surface, name.form)
            entity = named.setdefault(name.form, NamedEntity(surface, kind))
            entity.kind = entity.kind or kind
            if sentence.text not in entity.sentences:
                entity.sentences.append(sentence.text)
        facts.extend(_facts(sentence, names, named))
    return list(named.values()), list(dict.fromkeys(facts))


def key_words(text: str) -> list[str]:
    """Return the content words of a question in order."""
    if is_chinese(text):
        words = [w.text for w in segment(text) if w.tag in _HAN_WORDS and len(w.text) > 1]
    else:
        tokens = EnglishSentence(text).tokens
        words = [t.lower for t in tokens if t.kind == WORD and len(t.text) > 2]
        words = [word for word in words if word not in STOP_NAMES]
    return list(dict.fromkeys(words))


def _main_names(found: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the names of entities in order, without names inside longer ones."""
    kept: list[Occurrence] = []
    for name in sorted(found, key=lambda n: (n.start, -n.end)):
        if name.part or name.type in _NO_ENTITIES or len(name.form) < 2:
            continue
        if kept and name.start < kept[-1].end:
            continue
        kept.append(name)
    return kept


def _facts(
    sentence: EnglishSentence | HanSentence,
    names: Sequence[Occurrence],
    named: dict[str, NamedEntity],
) -> list[StatedFact]:
    facts = []
    for before, after in pairwise(names):
        if before.form == after.form:
            continue
        if not isinstance(sentence, HanSentence):
            between = sentence.text[before.end : after.start]
            words = _words_between(between)
        elif after.start - before.end <= _LONGEST_RELATION_HAN:
            words = _han_words_between(sentence, before.end, after.start)
        else:
            words = ""
        source, target = named[before.form].name, named[after.form].name
        facts.append(StatedFact(source, words, target, sentence.text))
    return facts


def _words_between(between: str) -> str:
    """Return the words between two names as a relation, or "" if they do not form one."""
    if len(between) > 12 * _LONGEST_RELATION_WORDS or _BREAK.search(between):
        return ""
    words = _WORDS.findall(between.lower())
    if not words or len(words) > _LONGEST_RELATION_WORDS:
        return ""
    first, last = 0, len(words)
    while first < last and words[first] in _TRIMMED_WORDS:
        first += 1
    while last > first and words[last - 1] in _TRIMMED_WORDS:
        last -= 1
    kept = words[first:last]
    if kept and kept[0] in {"'s", "’s"}:
        kept = kept[1:] or ["of"]
    if len(kept) > 1 and kept[0] in {"was", "were", "is", "are"}:
        kept = [word for word in kept[1:] if word not in {"a", "an", "the"}]
    return " ".join(kept)


def _han_words_between(sentence: HanSentence, start: int, end: int) -> str:
    """Return the verb, or else the noun, between two names as their relation, or ""."""
    between = [w for w in sentence.words if w.start >= start and w.end <= end]
    if any(word.text in {"。", "；", "！", "？", ";", "\n"} for word in between):
        return ""
    verbs = [word.text for word in between if word.tag in {"v", "vd", "vn", "vi"}]
    content = [verb for verb in verbs if verb not in {"是", "有", "会", "會", "能", "可", "要"}]
    if content:
        return "".join(content[:2])
    if verbs:
        return verbs[0]
    nouns = [word.text for word in between if word.tag in {"n", "j"} and len(word.text) > 1]
    return nouns[0] if len(nouns) == 1 else ""
