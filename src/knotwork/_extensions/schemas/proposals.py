"""A proposed schema as a TOML file, and counts of types to derive one from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema, RelationPattern
from knotwork._extensions.model_indexing.reply_formats import fold_word
from knotwork._text.terms import terms

MOST_PATTERNS = 4
"""Most patterns of one relation in a proposal, since every chunk pays for them."""

LEAST_SHARE = 0.1
"""Least share of a relation's occurrences; a rarer pattern counts as an error."""


@dataclass(frozen=True, slots=True)
class SchemaProposal:
    """A schema, and how often each of its entries was seen.

    ``counted`` describes the counts, such as "replies of 10"; it is empty, like the counts, for a
    schema from another source. ``meanings`` explain types in one line each.
    """

    schema: ExtractionSchema
    types: Mapping[str, int] = field(default_factory=dict)
    relations: Mapping[str, int] = field(default_factory=dict)
    patterns: Mapping[RelationPattern, int] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    counted: str = ""

    def toml(self, *heading: str) -> str:
        """Return the schema as a TOML file that `ExtractionSchema.read` reads.

        ``heading`` and the counts become comments.
        """
        schema = self.schema
        counts = f"The numbers are {self.counted}." if self.counted else ""
        lines = [f"# {_line(text)}" for text in (*heading, counts) if text]
        lines += ["# true drops what is not listed here, false keeps it unchanged."]
        lines += [f"strict = {str(schema.strict).lower()}", ""]
        kinds = [(_quoted(k), self.types.get(k), self.meanings.get(k)) for k in schema.entity_types]
        names = [(_quoted(name), self.relations.get(name), "") for name in schema.relation_types]
        joins = [
            (f"[{', '.join(map(_quoted, p))}]", self.patterns.get(p), "") for p in schema.patterns
        ]
        lines += [*_array("entity_types", kinds), "", *_array("relation_types", names), ""]
        lines += ["# Source type, relation, target type. Without any, all types are valid."]
        lines += _array("patterns", joins)
        return "\n".join(lines) + "\n"


def _array(key: str, entries: Iterable[tuple[str, int | None, str | None]]) -> list[str]:
    """Return the lines of a list; the number and the meaning of an entry become its comment."""
    lines = []
    for value, count, meaning in entries:
        number = "" if count is None else f"{count:,}"
        remark = _line(", ".join(filter(None, (number, meaning))))
        lines.append(f"    {value}," + (f"  # {remark}" if remark else ""))
    return [f"{key} = [", *lines, "]"] if lines else [f"{key} = []"]


def _quoted(text: str) -> str:
    def escape(character: str) -> str:
        if character in '"\\':
            return f"\\{character}"
        return character if character.isprintable() else f"\\U{ord(character):08X}"

    return f'"{"".join(map(escape, _encodable(text)))}"'


def _line(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in _encodable(text))
    return " ".join(shown.split())


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def word_key(text: str) -> str:
    """Return the key that merges spellings of a type or a relation: its stemmed words."""
    return " ".join(terms(fold_word(text))) or fold_word(text)


class SchemaCounts:
    """Counts types, relations, and the types that relations connect.

    ``key`` maps spellings to keys; spellings with the same key are counted together.
    """

    def __init__(self, key: Callable[[str], str] = fold_word) -> None:
        self._key = key
        self._spellings: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._types: Counter[str] = Counter()
        self._relations: Counter[str] = Counter()
        self._patterns: Counter[tuple[str, str, str]] = Counter()
        self._meanings: dict[str, str] = {}

    def add_type(self, name: str, *, meaning: str = "", times: int = 1) -> None:
        """Count an entity type."""
        key = self._keyed("type", name)
        self._types[key] += times
        if meaning:
            self._meanings.setdefault(key, meaning)

    def add_relation(self, source: str, relation: str, target: str, *, times: int = 1) -> None:
        """Count a relation between two types; "" stands for any type."""
        key = self._keyed("relation", relation)
        self._relations[key] += times
        if source and target:
            ends = self._keyed("type", source), self._keyed("type", target)
            self._patterns[ends[0], key, ends[1]] += times

    def add_vote(
        self, types: Iterable[tuple[str, str]], relations: Iterable[tuple[str, str, str]]
    ) -> None:
        """Count the types (with meanings) and relations of one reply, each at most once."""
        vote = SchemaCounts(self._key)
        vote._spellings, vote._meanings = self._spellings, self._meanings
        for name, meaning in types:
            vote.add_type(name, meaning=meaning)
        for source, relation, target in relations:
            vote.add_relation(source, relation, target)
            for end in filter(None, (source, target)):
                vote.add_type(end)
        self._types.update(list(vote._types))
        self._relations.update(list(vote._relations))
        self._patterns.update(list(vote._patterns))

    def __bool__(self) -> bool:
        return bool(self._types or self._relations)

    def proposal(
        self, *, most_types: int, most_relations: int, least: int = 1, counted: str
    ) -> SchemaProposal:
        """Return the schema of entries seen at least ``least`` times, the most frequent first.

        It is not strict, since the counts are from a sample. Patterns that are rare for their
        relation are left out, and so are relations all of whose types are left out.
        """
        types = _most(self._types, least, most_types)
        joins: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        typed: Counter[str] = Counter()
        for pattern, count in self._patterns.most_common():
            source, relation, target = pattern
            typed[relation] += count
            rare = count < LEAST_SHARE * self._relations[relation]
            if source in types and target in types and not rare:
                joins[relation].append(pattern)
        counts = self._relations
        fitting = Counter({r: n for r, n in counts.items() if joins[r] or typed[r] < n})
        relations = _most(fitting, least, most_relations)
        patterns = [p for relation in relations for p in joins[relation][:MOST_PATTERNS]]
        return self._spell_out(types, relations, patterns, counted=counted, strict=False)

    def exact(self, *, counted: str) -> SchemaProposal:
        """Return the strict schema of all entries, the most frequent first."""
        relations = _most(self._relations)
        patterns = [pattern for pattern, _ in self._patterns.most_common()]
        patterns.sort(key=lambda pattern: relations.index(pattern[1]))
        return self._spell_out(
            _most(self._types), relations, patterns, counted=counted, strict=True
        )

    def _keyed(self, noun: str, name: str) -> str:
        """Return the key of a name, and record the name as a spelling of it."""
        key = self._key(name)
        self._spellings[noun, key][name] += 1
        return key

    def _spell_out(
        self,
        types: Iterable[str],
        relations: Iterable[str],
        patterns: Iterable[tuple[str, str, str]],
        *,
        counted: str,
        strict: bool,
    ) -> SchemaProposal:
        """Return the schema of keys, each in its most frequent spelling; ties go to the first."""

        def shown(noun: str, key: str) -> str:
            return self._spellings[noun, key].most_common(1)[0][0]

        kinds = {shown("type", key): key for key in types}
        names = {shown("relation", key): key for key in relations}
        joins = {
            RelationPattern(shown("type", s), shown("relation", r), shown("type", t)): (s, r, t)
            for s, r, t in patterns
        }
        meanings = self._meanings
        return SchemaProposal(
            ExtractionSchema(tuple(kinds), tuple(names), tuple(joins), strict=strict),
            {kind: self._types[key] for kind, key in kinds.items()},
            {name: self._relations[key] for name, key in names.items()},
            {join: self._patterns[key] for join, key in joins.items()},
            {kind: meanings[key] for kind, key in kinds.items() if key in meanings},
            counted,
        )


def _most(counts: Counter[str], least: int = 1, most: int | None = None) -> list[str]:
    return [key for key, count in counts.most_common(most) if count >= least]
