"""Read prompts and write reply lines: tasks, tagged sections and numbered passages.

The first line of a prompt names its task::

    task: extract-graph

Its material is in tagged sections anywhere in the conversation. All are optional::

    <text> a chunk, or any other text to work on </text>
    <question> a question </question>
    <context> numbered passages, each starting a line with [1], [2] ... </context>
    <facts> lines about entities and relations, numbered in the same way </facts>
    <reports> findings in the same form, each report below # TITLE; to rate them, one per line as
        NUMBER | TITLE: TEXT </reports>
    <name> the entity of the descriptions </name>
    <descriptions> one per line; with several entities, each below # NUMBER NAME </descriptions>
    <community> the names, relations and numbered lines of a community, one per line; with several
        communities, each below # NUMBER </community>
    <pairs> 1. NAME: description || NAME: description, one numbered pair per line </pairs>
    <points> the lines of the map steps </points>
    <memory> names and facts of similar earlier chunks </memory>

If several messages name a task, or a section occurs twice, the last one is used. If the section
that a task needs is missing, the last message of the user is used instead. The fields of a line of
a reply are separated by `` | ``.

Names and facts of a text are read with the rules of the rule-based extractor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from knotwork._inference.chat import Message, MessagePicture
from knotwork._text.languages import segment, word_set
from knotwork._text.names import STOP_NAMES
from knotwork._text.plain_text import CITATION_MARK
from knotwork._text.sentences import split_sentences
from knotwork._text.terms import content_terms
from knotwork._transform.rules.chinese_sentences import HanSentence, find_han_names, is_chinese
from knotwork._transform.rules.english_names import find_names, gather_evidence
from knotwork._transform.rules.lexicon import ADDRESS, WORD, EnglishSentence, Occurrence, name_type

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


_TASK = re.compile(r"\s*task:[ \t]*([a-z][a-z-]*)[ \t]*$", re.MULTILINE)
_SECTION = re.compile(
    r"<(text|question|context|facts|reports|name|descriptions|community|pairs|points|memory)>"
    r"(.*?)</\1>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The task and the sections of a conversation. ``task`` is "" if no message names one."""

    task: str
    sections: Mapping[str, str]
    message: str
    """The last message of the user."""
    instructions: str = ""
    """The first message if it is a system message, else ""."""
    pictures: tuple[MessagePicture, ...] = ()

    def section(self, *names: str) -> str:
        """Return the first of these sections that exists, else the user's message."""
        for name in names:
            if name in self.sections:
                return self.sections[name]
        return self.message

    @property
    def question(self) -> str:
        """The question, or "" without one."""
        return self.sections.get("question", "")


def read_assignment(messages: Sequence[Message]) -> Assignment:
    """Return the task and the sections of a conversation."""
    task, message = "", ""
    sections: dict[str, str] = {}
    for turn in messages:
        if turn.role == "assistant":
            continue
        found = _TASK.match(turn.content)
        if found is not None:
            task = found[1]
        for section in _SECTION.finditer(turn.content):
            sections[section[1]] = section[2].strip()
        if turn.role == "user":
            message = turn.content[found.end() :].strip() if found else turn.content
    first = messages[0].content if messages and messages[0].role == "system" else ""
    pictures = tuple(picture for turn in messages for picture in turn.pictures)
    return Assignment(task, sections, message, first, pictures)


_UNSAFE = re.compile(r"\s*[\n\t|]+\s*")


def line(*fields: object) -> str:
    """Return a line of a reply. Separators and line breaks in a field become spaces."""
    return " | ".join(_UNSAFE.sub(" ", str(field)).strip() for field in fields)


_PASSAGE_NUMBER = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t]*", re.MULTILINE)
_FULL_STOPS = "。！？"
_MIN_SHARE = 0.3
"""Minimum share of the question's terms for a sentence to be relevant."""


class NumberedPassage(NamedTuple):
    """A part of a context. ``number`` is 0 if it has none."""

    number: int
    text: str


class RankedSentence(NamedTuple):
    """A sentence with the share of the question's terms that it contains."""

    score: float
    text: str
    number: int


def read_passages(text: str) -> list[NumberedPassage]:
    """Split a context at its numbers. Without numbers, every line is a passage."""
    found = list(_PASSAGE_NUMBER.finditer(text))
    if not found:
        return [NumberedPassage(0, _last_field(line)) for line in text.splitlines() if line.strip()]
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        NumberedPassage(int(match[1]), _last_field(text[match.end() : end].strip()))
        for match, end in zip(found, ends, strict=True)
    ]


def rank_sentences_of_passages(
    question: str, passages: list[NumberedPassage]
) -> list[RankedSentence]:
    """Return the sentences relevant to a question, those with most of its terms first.

    A term elsewhere in the passage counts half.
    """
    asked = set(content_terms(question))
    if not asked:
        return []
    ranked: dict[str, RankedSentence] = {}
    for passage in passages:
        around = asked & set(content_terms(passage.text))
        for sentence in sentences_of(passage.text):
            inside = asked & set(content_terms(sentence))
            if not inside:
                continue
            score = (len(inside) + len(around - inside) / 2) / len(asked)
            if score >= _MIN_SHARE:
                ranked.setdefault(sentence, RankedSentence(score, sentence, passage.number))
    return sorted(ranked.values(), key=lambda item: -item.score)


def cite(sentence: str, number: int) -> str:
    """Append a citation mark to a sentence, without a space after Chinese punctuation."""
    if not number:
        return sentence
    bare = CITATION_MARK.sub("", sentence).strip()
    return f"{bare}[{number}]" if bare.endswith(tuple(_FULL_STOPS)) else f"{bare} [{number}]"


def _last_field(line: str) -> str:
    """Return the last field of a line: the summary of ``entity | name | type | summary``."""
    if "\n" in line:
        return line
    return line.rsplit("|", 1)[-1].strip()
