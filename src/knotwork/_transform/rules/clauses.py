"""Read the relations that clauses state, from patterns over the kinds of their words.

A sentence becomes a string of one letter for each word or name. The patterns of a language are
regular expressions over these letters: where a clause begins, what may follow its subject, and what
may follow any name. One loop applies them, and carries a subject on to the predicates that are
joined to its first one. A word that fits no pattern ends the clause: precision before recall.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple


class Unit(NamedTuple):
    """A word or a name of a sentence: its letter, its words, and the normal form of a name."""

    tag: str
    words: str
    form: str = ""
    type: str = ""


class SentenceRelation(NamedTuple):
    """A relation of two normal forms in one sentence."""

    source: str
    relation: str
    target: str


class Pattern(NamedTuple):
    """A way to state relations of the name before the matched letters.

    ``tags`` are letters; its group ``o`` holds the names on the other side. ``label`` is the
    relation, with the words of other groups in braces. The relation leads from the name before, or,
    if ``reverse``, to it. ``tail`` are letters of further names behind a preposition ``p``: they
    belong to the same subject, or, with ``tail_of_object``, to the names of ``o``.
    """

    tags: str
    label: str
    reverse: bool = False
    tail: str = ""
    tail_of_object: bool = False


class Grammar(NamedTuple):
    """The patterns of a language, and what is allowed of words and names in them."""

    fronted: re.Pattern[str]
    """A date before a subject."""
    starts: re.Pattern[str]
    """Letters before a subject, up to its own."""
    subjects: re.Pattern[str]
    """A subject with those joined to it."""
    skipped: re.Pattern[str]
    """Letters between a subject and its predicate."""
    predicates: Sequence[Pattern]
    after_names: Sequence[Pattern]
    """Patterns behind any name: appositions, posts, owners."""
    joined: re.Pattern[str]
    """Letters between two predicates of one subject."""
    allows: Callable[[Unit, str, Unit], str]
    """Returns the relation of two names as it is stored, "" if it is not one."""
    joiner: str = " "


_compiled = cache(re.compile)


def read_clauses(grammar: Grammar, units: Sequence[Unit]) -> Iterator[SentenceRelation]:
    """Yield the relations of a sentence, in the order of its words."""
    reader = _Reader(grammar, units)
    for place, unit in enumerate(units):
        if unit.tag == "N":
            for pattern in grammar.after_names:
                yield from reader.read((pattern,), [unit], place + 1)[0]
            if grammar.starts.search(reader.tags, 0, place):
                yield from reader.clause(place)


class _Reader:
    def __init__(self, grammar: Grammar, units: Sequence[Unit]) -> None:
        self.grammar = grammar
        self.units = units
        self.tags = "".join(unit.tag for unit in units)

    def clause(self, place: int) -> Iterator[SentenceRelation]:
        grammar = self.grammar
        first = grammar.subjects.match(self.tags, place)
        if first is None:
            return
        subjects = self._names(*first.span())
        after = first.end()
        while True:
            skipped = grammar.skipped.match(self.tags, after)
            found, end = self.read(
                grammar.predicates, subjects, skipped.end() if skipped else after
            )
            yield from found
            if (
                found
                and after == first.end()
                and (fronted := grammar.fronted.search(self.tags, 0, place))
            ):
                yield from self._dated(found[0], self.units[fronted.start("o")])
            joined = grammar.joined.match(self.tags, end)
            if end == after or joined is None:
                return
            after = joined.end()

    def _dated(self, item: SentenceRelation, date: Unit) -> Iterator[SentenceRelation]:
        """Yield "Acme – founded in → 1999" of "In 1999, Anna Smith founded Acme"."""
        verb, _, preposition = item.relation.partition(" ")
        if preposition in {"", "by"}:
            one = item.source if preposition else item.target
            unit = next(u for u in self.units if u.form == one)
            stated = self.grammar.allows(unit, f"{verb} in", date)
            if stated:
                yield SentenceRelation(one, stated, date.form)

    def read(
        self, patterns: Sequence[Pattern], subjects: Sequence[Unit], start: int
    ) -> tuple[list[SentenceRelation], int]:
        """Return the relations of the first pattern that fits, and where the next may begin."""
        for pattern in patterns:
            match = _compiled(pattern.tags).match(self.tags, start)
            if match is None:
                continue
            found: list[SentenceRelation] = []
            self._take(pattern, match, subjects, found)
            if not found:
                continue
            end, tail = match.end(), _compiled(pattern.tail) if pattern.tail else None
            owners = self._names(*match.span("o")) if pattern.tail_of_object else subjects
            while tail is not None and (more := tail.match(self.tags, end)):
                label = pattern.label.removesuffix(" {p}") + " {p}"
                self._take(pattern._replace(label=label), more, owners, found, of=match)
                end = more.end()
            return found, end
        return [], start

    def _take(
        self,
        pattern: Pattern,
        match: re.Match[str],
        subjects: Sequence[Unit],
        found: list[SentenceRelation],
        of: re.Match[str] | None = None,
    ) -> None:
        parts = {**(of or match).re.groupindex, **match.re.groupindex}
        words = {
            part: self._words(*(match if part in match.re.groupindex else of or match).span(part))
            for part in parts
        }
        label = " ".join(pattern.label.format_map(words).split())
        for subject in subjects:
            for name in self._names(*match.span("o")):
                one, other = (name, subject) if pattern.reverse else (subject, name)
                stated = self.grammar.allows(one, label, other)
                if stated and one.form != other.form:
                    found.append(SentenceRelation(one.form, stated, other.form))

    def _names(self, first: int, end: int) -> list[Unit]:
        return [unit for unit in self.units[first:end] if unit.form]

    def _words(self, first: int, end: int) -> str:
        return self.grammar.joiner.join(
            unit.words for unit in self.units[max(first, 0) : max(end, 0)]
        )
