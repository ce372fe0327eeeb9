"""The words of a question that mean links, properties and kinds of a graph, and those left over.

A word means a link or property that has it in its name, or another word of its group in
`schema_words.txt`. Nodes without a label get the kinds that the ends of their links share: what a
film is directed and written by are both persons.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from typing import NamedTuple

from knotwork._extensions.queries.query_plans import Statement
from knotwork._extensions.queries.query_targets import SAMPLED, CypherGraph, quote_name
from knotwork._extensions.queries.target_schema import (
    KindShape,
    PropertyShape,
    shape_property,
    split_name,
)
from knotwork._text.languages import simplify
from knotwork._text.names import normal_form
from knotwork._text.relation_words import HAN_RUN, WORD
from knotwork._text.schema_words import (
    Degree,
    Role,
    ScaleMention,
    SchemaWords,
    Sense,
    joined_form,
    read_schema_words,
    word_form,
)
from knotwork.records import PropertyValue, Span

_PARTICLES = frozenset(
    {"is", "was", "are", "were", "has", "have", "had", "be", "been", "of", "by", "in", "on", "at"}
    | {"to", "for", "from", "the", "a", "an", "as", "with"}
)
"""Words in names of links without a meaning of their own."""
_PLACED = frozenset({"in", "on", "at", "since", "during"})
_NUMERIC = re.compile(r"[^\d]{0,6}\d[\d\s.:/-]*年?[^\d]{0,6}")
_NAMING = ("name", "title", "label", "login")
_MOST_PAIRS = 50_000
_SHARED = 0.5
"""Share of the fewer nodes from which on the ends of two links are of one kind."""
_FUNCTION_WORDS = frozenset(
    """
    what which who whom whose how is are was were be been being do does did done has have had a an
    the of in on at for from to with within by per and or as that those these this there it its
    their them they all any each every both me us please tell show list give find get name names
    can could you i we my our s also just only ever many much when where whether into about between
    during through out up while he she his her him co but not without except excluding other others
    else another ones will would should may might kind kinds sort sorts anyone anybody anything
    someone somebody something by than no got under
    """.split()  # noqa: SIM905
)
"""Words that ask or join, without a meaning of their own. Verbs are not among them, nor are words
that compare."""
_VAGUE_WORDS = frozenset({"belong", "belongs", "fall", "falls", "listed", "described"})
"""Verbs that only join what another word means, unless the graph has a link for them."""
_SORTS = frozenset({"kind", "kinds", "sort", "sorts"})
"""Function words that mean a genre or category in "what kind of", if the graph has one."""
SPENDING = frozenset({"spend", "spends", "spent"})
"""Verbs that only join a number of which another word says what it is: hours."""
PLACING = frozenset({"live", "lives", "come", "comes", "located", "based", "住", "来自", "位于"})
"""Verbs that only say that a value is a place."""
STARTING = frozenset({"start", "started", "begin", "began", "first"})
"""Verbs that only say of which end of a time a question asks."""
_FUNCTION_HAN = re.compile(
    r"任何(?=人)?|请问|请|列出|给出|显示|查询|告诉我"
    r"|哪(?:一)?(?:些|个|位|名|家|种|款|条|项|部|里|儿|所|年|天|本|首|座|国|人)?|什么时候|何时|什么|多少|谁"
    r"|分别|所有|全部|一共|总共|其中|里面|之中|还有|以及|并且|而且|但是|但|并|还|也|都|又|既|而|中|里|内|外"
    r"|过|了|的|地|得|在|是|有|为|和|与|跟|同|及|或|被|由|给|把|对|从|到|至|之间|于|个|条|名|位|部|家|笔|份|项"
    r"|年|月|日|岁|本|首|次|所|座|种|呢|吗|么|之|其|他|她|它|们|哪|几|共同|共|担任|属于|曾经|曾|任|除了?|没有|没"
    r"|不是|不|未|其他|其它|另外|那些|这些|那个|这个|主要|最终"
)


@dataclass(frozen=True)
class GraphLink:
    """A type of links between two kinds, with what its name means.

    ``doer`` is True if its source does or is what the name says, False if its target does, and
    None if that is unclear. ``is_placed`` is True if it leads to the time or place of an event.
    """

    type: str
    source: str
    target: str
    groups: frozenset[int]
    stems: frozenset[str]
    doer: bool | None
    is_placed: bool
    has_values: bool
    """True if most nodes that it leads to are numbers or times."""
    properties: tuple[PropertyShape, ...] = ()
    also: tuple[str, ...] = ()
    """Further types that a word means as well: sons and daughters are children."""
    turned: frozenset[int] = frozenset()
    """Groups in which its name is what is done to: "part of" is about what contains, "child" about
    parents."""
    has_agents: bool = False
    """True if who does it is a person or an organization, as far as words tell."""
    is_deed: bool = False
    """True if it says what someone or something did, rather than what it is or has."""
    roots: frozenset[str] = frozenset()
    """The verbs of its name: to inspect, of an inspector."""

    @property
    def pattern(self) -> str:
        """Its types, quoted for a statement."""
        return "|".join(map(quote_name, (self.type, *self.also)))

    def side_of(self, role: Role) -> tuple[str, ...]:
        """Return the kind of who does it or what it is done to; both if that is unclear."""
        if self.doer is None or role is Role.DEED:
            return (self.source, self.target)
        return (self.source,) if self.doer == (role is Role.DOER) else (self.target,)


@dataclass(frozen=True)
class Meaning:
    """What a word may mean: a link, a property of a kind, or a kind of nodes."""

    cost: float
    link: GraphLink | None = None
    role: Role = Role.DEED
    kind: str | None = None
    property: PropertyShape | None = None
    is_person: bool = False
    held: PropertyShape | None = None
    """A property of the link."""


@dataclass(frozen=True)
class Item:
    """A word of a question with its meanings; ``word`` is as written."""

    span: Span
    word: str
    meanings: tuple[Meaning, ...]

    @property
    def names_value(self) -> bool:
        """True if it may mean a property, or a link to numbers or times."""
        return any(
            m.property or m.held or (m.link is not None and m.link.has_values)
            for m in self.meanings
        )


ANY = "*"
"""A kind that a word names and the graph has no label for."""
_KEY_WORDS = frozenset({word_form("id"), word_form("number"), "编号", "号码"})
_IN_NAME, _SAME_GROUP, _NARROWER, _LINK_PROPERTY, _OF_ANY = 0.0, 0.1, 0.15, 0.05, 0.2
"""The costs of meanings: of a word of the name itself, of its group, of a narrower group."""
_LONGEST_VALUE = 60
_LONGEST_HAN = 8
_MOSTLY = 0.6
_JOINT = re.compile(r"^co(?=[a-z]{3})")
_PARTS = re.compile(r"[;/|]|, ")
_PLACES = ("city", "country", "province", "district", "address", "location", "residence")
_STATES = frozenset(
    """
    is are has have locate headquarter live belong own contain border know like depend use work
    manage report orbit speak
    """.split()  # noqa: SIM905
)
"""Verbs for what something is or has."""
_FIRST_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_AGENT = re.compile(r"([a-z]{3,}?)(?:er|or)")


_LinkKey = tuple[Role, str, str, bool | None, bool]
"""What links have in common that one word means: its role, their kinds, who does it, and when."""


class Measure(NamedTuple):
    """What an adjective is about: a property of a kind, or a link to numbers.

    ``upper`` is True if large values are at the end of the scale that is meant.
    """

    kind: str
    property: PropertyShape | None
    link: GraphLink | None
    upper: bool


class NameWords(NamedTuple):
    """The words of a name of the schema, and what they mean."""

    stems: frozenset[str]
    groups: frozenset[int]
    roles: frozenset[Role]

    def means(self, form: str, senses: Iterable[Sense]) -> float | None:
        """Return the cost of a word for this name, or None if it does not mean it."""
        if form in self.stems:
            return _IN_NAME
        return _SAME_GROUP if any(sense.group in self.groups for sense in senses) else None


def read_name(name: str, words: SchemaWords) -> NameWords:
    """Return the words of the name of a link, property or label.

    Of several groups, those that most of its words belong to: "starred_actors" is about acting,
    which both words mean, rather than about ratings.
    """
    lowered = simplify(split_name(name))
    runs, plain = HAN_RUN.findall(lowered), WORD.findall(lowered)
    tokens = [word for word in plain if word not in _PARTICLES]
    stems = {word_form(token) for token in tokens} | {run.rstrip("于在") or run for run in runs}
    pairs = {joined_form("_".join(pair)) for pair in (*pairwise(tokens), *pairwise(plain))}
    known = sorted(pairs & words.senses.keys()) or sorted(stems)
    for run in runs:
        if run not in words.senses:
            known += [part for _, part in find_han(run, words.senses)]
    senses = [words.senses.get(part, frozenset()) for part in known]
    support = Counter(group for found in senses for group in {sense.group for sense in found})
    most = max(support.values(), default=0)
    groups = frozenset(group for group, count in support.items() if count == most)
    roles = {sense.role for found in senses for sense in found if sense.group in groups}
    return NameWords(frozenset(stems), groups, frozenset(roles))


def find_han(run: str, known: Container[str]) -> Iterator[tuple[int, str]]:
    """Yield the longest known words in a run of Han characters, with their places.

    A shorter one is preferred if a known word behind it reaches further, and none is behind the
    longest: 河 and 流经 rather than 河流 and 经.
    """

    def words_at(place: int) -> list[str]:
        ends = range(min(len(run), place + _LONGEST_HAN), place, -1)
        return [run[place:end] for end in ends if run[place:end] in known]

    place = 0
    while place < len(run):
        words = words_at(place)
        found = words[0] if words else ""
        if len(words) > 1 and place + len(found) < len(run) and not words_at(place + len(found)):
            longer = (w for w in words for f in words_at(place + len(w)) if len(w + f) > len(found))
            found = next(longer, found)
        if found:
            yield place, found
        place += len(found) or 1


class GraphModel:
    """The schema of a graph with the meanings of its names.

    ``link_values`` are the places of texts in properties of links, such as roles, by their form.
    """

    def __init__(self, target: CypherGraph) -> None:
        self.target = target
        self.values = target.values()
        self._words = words = read_schema_words()
        schema = target.schema()
        self.kinds: Mapping[str, KindShape] = schema.by_name
        self.is_labelled = any(self.kinds)
        self._naming = {kind.name: _find_naming(kind, words) for kind in schema.kinds}
        self._kind_groups = {name: self._read_kind(name) for name in self.kinds if name}
        self._members: dict[str, set[str]] = {}
        self._places = {
            sense.group for word in _PLACES for sense in words.senses.get(word_form(word), ())
        }
        self._states = {s.group for word in _STATES for s in words.senses.get(word_form(word), ())}
        self._agents = {
            sense.group
            for form, senses in words.senses.items()
            for sense in senses
            if sense.role is Role.DOER and form.endswith("+er")
        }
        self._numbers: dict[str, Mapping[str, float]] = {}
        sides = {} if self.is_labelled else self._derive_kinds()
        self.links = [
            self._read_link(
                link.type,
                sides.get((link.type, True), link.source),
                sides.get((link.type, False), link.target),
            )
            for link in schema.links
        ]
        self._properties = [
            (kind.name, item, read_name(item.name, words))
            for kind in schema.kinds
            for item in kind.properties
            if item.name != self._naming[kind.name]
        ]
        self._link_properties = [
            (link, shape, read_name(shape.name, words))
            for link in self.links
            for shape in link.properties
        ]
        self.link_values: dict[str, list[tuple[GraphLink, str]]] = {}
        for link, shape, _ in self._link_properties:
            if shape.type in {"text", "list"}:
                self._read_link_values(link, shape)
        names = [*(n for *_, n in self._properties), *(n for *_, n in self._link_properties)]
        stems = {stem for name in names for stem in name.stems}
        stems |= {stem for link in self.links for stem in link.stems}
        self._han = {*words.senses, *words.kinds, *stems, *map(simplify, self.kinds)}

    def naming_of(self, kind: str) -> str:
        """Return the property that names the nodes of a kind."""
        return self._naming.get(kind) or "name"

    def is_agent(self, word: str) -> bool:
        """Return True if a word is one for who does something."""
        senses = self._words.senses.get(joined_form(word), ())
        return any(sense.role is Role.DOER for sense in senses) and not word.isdigit()

    def is_place(self, kind: str, name: str) -> bool:
        """Return True if a property of a kind is named like a place."""
        return any(
            held == kind and shape.name == name and not words.groups.isdisjoint(self._places)
            for held, shape, words in self._properties
        )

    def is_person(self, kind: str) -> bool | None:
        """Return True for a kind of persons or organizations, None for one without a label."""
        groups = self._kind_groups.get(kind)
        return None if groups is None else bool(groups & self._words.persons)

    def kinds_of(self, kind: str, value: PropertyValue) -> list[str]:
        """Return the kinds of a node with this label and name."""
        if self.is_labelled:
            return [kind]
        found = [derived for derived, held in self._members.items() if str(value) in held]
        return found or self._kinds_around(value)

    def _kinds_around(self, value: PropertyValue) -> list[str]:
        """Return the kinds of a node without a label by its links, in a graph read in part."""
        kinds = dict[str, None]()
        for pattern, is_source in (("-[r]->()", True), ("<-[r]-()", False)):
            text = f"MATCH (n {{name: $name}}){pattern} RETURN DISTINCT type(r)"
            for (relation,) in self.target.run(Statement(text, {"name": value})).rows:
                links = (link for link in self.links if link.type == relation)
                kinds |= dict.fromkeys(link.source if is_source else link.target for link in links)
        return list(kinds)

    def measures(self, mention: ScaleMention, *, rising: bool = False) -> list[Measure]:
        """Return what an adjective is about, of each kind the first of its scale's properties.

        With ``rising``, only properties that grow with it: an age, but no year of birth. "How old"
        is not about links to dates.
        """
        found: dict[str, list[Measure]] = {}
        for scale, upper in mention.scales:
            pairs = [(word, upper) for word in scale.rising]
            pairs += [] if rising else [(word, not upper) for word in scale.falling]
            held: dict[str, list[Measure]] = {}
            for word, end in pairs:
                fitting: dict[str, list[Measure]] = {}
                for measure in self._measured(joined_form(word), upper=end):
                    is_other = mention.degree is Degree.HOW and end != upper and measure.link
                    if is_other:
                        continue
                    fitting.setdefault(measure.kind, []).append(measure)
                held = fitting | held
            found = held | found
        return [measure for measures in found.values() for measure in measures]

    def _measured(self, form: str, *, upper: bool) -> Iterator[Measure]:
        senses = self._words.senses.get(form, frozenset())
        for kind, shape, name in self._properties:
            if shape.is_ordered and name.means(form, senses) is not None:
                yield Measure(kind, shape, None, upper)
        for link in self.links:
            groups = {sense.group for sense in senses} & link.groups
            if link.has_values and (groups or form in link.stems):
                yield Measure(link.source, None, link, upper)

    def numbers_of(self, link: GraphLink) -> Mapping[str, float]:
        """Return the names of the nodes that a link leads to, with the first number in each."""
        if link.type not in self._numbers:
            naming = quote_name(self.naming_of(link.target))
            statement = (
                f"MATCH ()-[:{quote_name(link.type)}]->(n) RETURN DISTINCT n.{naming}"
                f" LIMIT {_MOST_PAIRS}"
            )
            names = [str(name) for (name,) in self.target.read_rows(statement)]
            numbers = ((name, _FIRST_NUMBER.search(name.replace(",", ""))) for name in names)
            self._numbers[link.type] = {name: float(held[0]) for name, held in numbers if held}
        return self._numbers[link.type]

    def meanings(self, word: str) -> list[Meaning]:
        """Return what a word of a question may mean."""
        form = joined_form(word)
        senses = self._words.senses.get(form, frozenset())
        found = self._find_links(form, senses)
        found += [
            # "Play" is about a role as well, and only "role" names it.
            Meaning(_LINK_PROPERTY, link, Role.RESULT if is_noun else Role.DEED, held=shape)
            for link, shape, name in self._link_properties
            if name.means(form, senses) is not None
            for is_noun in (
                form in name.stems
                or any(s.role is Role.RESULT and s.group in name.groups for s in senses),
            )
        ]
        for kind, shape, name in self._properties:
            is_key = "identifier" in split_name(shape.name).split()
            cost = name.means(form, senses)
            # "Customers" are nodes rather than their ids.
            if form in _KEY_WORDS if is_key else cost is not None:
                found.append(Meaning(cost or _IN_NAME, kind=kind, property=shape))
        named = self._words.kinds.get(form, frozenset())
        found += [Meaning(_IN_NAME, kind=kind) for kind in self._kinds_named(form, named)]
        if named and not found and not self.is_labelled:
            is_person = bool(named & self._words.persons)
            found.append(Meaning(_OF_ANY, kind=ANY, is_person=is_person))
        return found

    def read(self, text: str, taken: Iterable[Span]) -> tuple[list[Item], list[str]]:
        """Return the items of a question outside ``taken`` spans, and the words without meaning."""
        plain = list(simplify(text).lower())
        if len(plain) != len(text):  # the lower case of a letter is longer
            plain = list(text)
        for start, end in taken:
            plain[start:end] = "\x00" * (end - start)
        said, items, left = "".join(plain), list[Item](), list[str]()
        forms = {word_form(word) for word in WORD.findall(said)}
        for span, found in (*self._read_words(said), *self._read_han(said)):
            word = text[slice(*span)]
            if found:
                items.append(Item(span, word, tuple(_without_parts(found, word, forms))))
            else:
                left.append(word)
        return sorted(items, key=lambda item: item.span), left

    def _read_words(self, said: str) -> Iterator[tuple[Span, list[Meaning]]]:
        """Yield English words, or pairs of them, that have a meaning or are no function words."""
        words = [
            (word, Span(match.start(), match.start() + len(word)))
            for match in WORD.finditer(said)
            for word in (match[0].removesuffix("'s").removesuffix("’s"),)
        ]
        end = 0
        for number, (word, span) in enumerate(words):
            if span.start < end:
                continue
            if number + 1 < len(words):
                following, last = words[number + 1]
                pair = f"{word}_{following}"
                if joined_form(pair) in self._words.senses and (found := self.meanings(pair)):
                    end = last.end
                    yield Span(span.start, end), found
                    continue
            is_sort = word in _SORTS and number + 1 < len(words) and words[number + 1][0] == "of"
            if word.isdigit() or (word in _FUNCTION_WORDS and not is_sort):
                continue
            found = self.meanings(word) or self.meanings(_JOINT.sub("", word))
            if found or word not in (_VAGUE_WORDS | _SORTS):
                yield span, found

    def _read_han(self, said: str) -> Iterator[tuple[Span, list[Meaning]]]:
        """Yield the Chinese words that have a meaning, and what is left between them."""
        for match in HAN_RUN.finditer(said):
            rest = list(match[0])
            for place, word in find_han(match[0], self._han):
                if found := self.meanings(word):
                    start = match.start() + place
                    yield Span(start, start + len(word)), found
                    rest[place : place + len(word)] = "\x00" * len(word)
            bare = _FUNCTION_HAN.sub(lambda held: "\x00" * len(held[0]), "".join(rest))
            for left in _LEFT.finditer(bare):
                yield Span(match.start() + left.start(), match.start() + left.end()), []

    def _find_links(self, form: str, senses: Iterable[Sense]) -> list[Meaning]:
        """Return the links that a word means; several that differ only in their type as one."""
        costs = defaultdict[_LinkKey, list[tuple[float, GraphLink]]](list)
        agents = _agent_roots(form)
        for link in self.links:
            roles = self._roles_in(link, senses)
            if form in link.stems:
                # A part, in "part of", is at the source whatever else the word may mean.
                if (Role.DOER, False) in roles:
                    roles = {r: c for r, c in roles.items() if r[0] is not Role.RESULT and not r[1]}
                roles = dict.fromkeys(roles or ((Role.DEED, False),), _IN_NAME)
            elif not roles and agents & link.stems:
                roles = {(Role.DOER, False): _IN_NAME}
            elif not roles and form in link.roots:
                roles = {(Role.DEED, False): _IN_NAME}
            target = link.target if self.is_labelled else ""
            for (role, is_turned), cost in roles.items():
                doer = link.doer if not is_turned or link.doer is None else not link.doer
                key = role, link.source, target, doer, link.is_placed
                costs[key].append((cost, replace(link, doer=doer)))
        found = []
        for (role, *_), links in costs.items():
            best = min(cost for cost, _ in links)
            # Words of one group may each have a link of their own; narrower ones are meant too.
            first, *others = (link for cost, link in links if cost in (best, _NARROWER))
            joined = replace(first, also=tuple(link.type for link in others))
            found.append(Meaning(best, joined, role))
        return found

    def _roles_in(self, link: GraphLink, senses: Iterable[Sense]) -> dict[tuple[Role, bool], float]:
        """Return the roles of a word for a link, with True in groups where the link is turned."""
        roles: dict[tuple[Role, bool], float] = {}
        narrow = frozenset[int]().union(*(self._words.narrower[group] for group in link.turned))
        for sense in senses:
            is_turned = sense.group in link.turned
            if is_turned and sense.role is Role.DOER and sense.group in narrow:
                continue  # the parent of a child may be its father or its mother
            if sense.group in link.groups:
                roles[sense.role, is_turned] = _SAME_GROUP
            elif self._words.narrower[sense.group] & (link.groups - link.turned):
                roles.setdefault((sense.role, False), _NARROWER)
        return roles

    def _kinds_named(self, form: str, named: frozenset[int]) -> list[str]:
        """Return the labels that a word means; people are nodes of any kind of persons."""
        is_people = not named.isdisjoint(self._words.kinds[word_form("person")])
        wanted = named | self._words.persons if is_people else named
        return [
            kind
            for kind, groups in self._kind_groups.items()
            if wanted & groups or form == joined_form(kind)
        ]

    def _read_kind(self, kind: str) -> frozenset[int]:
        stems = read_name(kind, self._words).stems
        return frozenset[int]().union(*(self._words.kinds.get(stem, ()) for stem in stems))

    def _derive_kinds(self) -> dict[tuple[str, bool], str]:
        """Return the kinds of the sources and targets of links, by their common nodes."""
        nodes = defaultdict[tuple[str, bool], set[str]](set)
        # Of two relations that fit as well, the one that the graph lists first is meant.
        for (relation,) in self.target.read_rows("MATCH ()-[r]->() RETURN DISTINCT type(r)"):
            pattern = f"MATCH (a)-[:{quote_name(str(relation))}]->(b)"
            statement = f"{pattern} RETURN a.name, b.name LIMIT {_MOST_PAIRS}"
            for source, target in self.target.read_rows(statement):
                nodes[str(relation), True].add(str(source))
                nodes[str(relation), False].add(str(target))
        merged = {side: number for number, side in enumerate(nodes)}
        for one, other in combinations(nodes, 2):
            fewer = min(len(nodes[one]), len(nodes[other]))
            if len(nodes[one] & nodes[other]) >= max(_SHARED * fewer, 1):
                old, new = merged[one], merged[other]
                merged = {side: new if kind == old else kind for side, kind in merged.items()}
        kinds = {side: f"~{number}" for side, number in merged.items()}
        for side, kind in kinds.items():
            self._members.setdefault(kind, set()).update(nodes[side])
        return kinds

    def _holds_values(self, kind: str) -> bool:
        """Return True if most nodes of a kind without label are numbers or times."""
        members = self._members.get(kind, ())
        values = sum(_NUMERIC.fullmatch(name) is not None for name in members)
        return values > _MOSTLY * len(members)

    def _read_link(self, type_: str, source: str, target: str) -> GraphLink:
        name = read_name(type_, self._words)
        plain = WORD.findall(split_name(type_)) or [""]
        is_event = not name.groups.isdisjoint(self._words.events)
        has_values = self._holds_values(target)
        is_placed = is_event and (plain[-1] in _PLACED or type_.endswith(("于", "在")))
        doer: bool | None = True
        is_agent = not self.is_labelled and bool(_agent_roots(word_form(plain[-1])))
        if is_placed or has_values:
            doer = None
        elif plain[-1] == "by" or (is_agent and not name.roles):
            doer = False
        elif not (name.roles or plain[-1] == "of"):
            doer = None
        elif Role.DOER in name.roles and plain[-1] != "of":
            # "father" and "starred actors" lead to them; a Chinese word may be noun and verb.
            last = self._words.senses.get(word_form(plain[-1]), frozenset())
            is_verb = any(s.role is Role.DEED for s in last if s.group in name.groups)
            is_noun = not is_verb or plain[0] == "has" or not type_.isascii()
            is_both = Role.DEED in name.roles and not type_.isascii()
            is_source = type_.startswith("担任") or (is_both and self.is_person(target) is False)
            doer = not is_noun or is_source
        found = defaultdict[str, list[PropertyValue]](list)
        if self.is_labelled:
            statement = f"MATCH ()-[r:{quote_name(type_)}]->() RETURN properties(r) LIMIT {SAMPLED}"
            for (properties,) in self.target.read_rows(statement):
                for key, value in properties.items():
                    found[key].append(value)
        return GraphLink(
            type_,
            source,
            target,
            name.groups,
            name.stems,
            doer,
            is_placed or has_values,
            has_values,
            tuple(shape_property(key, values) for key, values in found.items()),
            turned=self._turned_groups(name),
            is_deed=(
                Role.DEED in name.roles
                and plain[0] not in _STATES
                and self._states.isdisjoint(name.groups)
            ),
            has_agents=not self._agents.isdisjoint(name.groups),
            roots=frozenset().union(*map(_agent_roots, name.stems)),
        )

    def _turned_groups(self, name: NameWords) -> frozenset[int]:
        """Return the groups in which a name is a result, if it is not one in others."""
        roles = defaultdict[int, set[Role]](set)
        for stem in name.stems:
            for sense in self._words.senses.get(stem, ()):
                if sense.group in name.groups:
                    roles[sense.group].add(sense.role)
        turned = frozenset(group for group, held in roles.items() if held == {Role.RESULT})
        return turned if len(turned) < len(roles) else frozenset()

    def _read_link_values(self, link: GraphLink, shape: PropertyShape) -> None:
        name = quote_name(shape.name)
        statement = (
            f"MATCH ()-[r:{quote_name(link.type)}]->() WHERE r.{name} IS NOT NULL "
            f"RETURN DISTINCT r.{name} LIMIT {_MOST_PAIRS}"
        )
        for (value,) in self.target.read_rows(statement):
            texts = map(str, value if isinstance(value, list) else [value])
            pieces = (piece for text in texts for piece in (text, *_PARTS.split(text)))
            for form in {normal_form(p) for p in pieces if len(p) < _LONGEST_VALUE} - {""}:
                held = self.link_values.setdefault(form, [])
                if (link, shape.name) not in held:
                    held.append((link, shape.name))


_LEFT = re.compile(r"[^\x00]+")


def _without_parts(found: Sequence[Meaning], word: str, forms: set[str]) -> list[Meaning]:
    """Return the meanings without the links of whose names a word is only a part.

    "Phone" means HAS_PHONE rather than KNOWS_PHONE, unless the question has the other word too.
    """
    form = joined_form(word)
    if not any(meaning.link and meaning.link.stems == {form} for meaning in found):
        return list(found)
    return [
        meaning
        for meaning in found
        if not meaning.link
        or form not in meaning.link.stems
        or meaning.link.stems == {form}
        or not (meaning.link.stems - {form}).isdisjoint(forms)
    ]


def _agent_roots(stem: str) -> frozenset[str]:
    """Return the stems of the verb of a noun for who does it: of an inspector, to inspect."""
    found = _AGENT.fullmatch(stem.removesuffix("+er"))
    if found is None:
        return frozenset()
    root = found[1]
    undoubled = [root[:-1]] if root[-1] == root[-2] else []
    return frozenset(word_form(form) for form in (root, f"{root}e", *undoubled))


def _find_naming(kind: KindShape, words: SchemaWords) -> str:
    """Return the property that names the nodes of a kind, or else its key, or ""."""
    split = {item.name: split_name(item.name).split() for item in kind.properties}
    texts = [item.name for item in kind.properties if item.type == "text"]
    same = {
        wanted: {s.group for s in words.senses.get(wanted, ()) if s.role is Role.DOER}
        for wanted in _NAMING
    }
    names = {name: read_name(name, words).groups for name in texts}
    exact = (n for wanted in _NAMING for n in split if n.lower() == wanted)
    ending = (name for last in _NAMING for name in texts if split[name][-1:] == [last])
    meant = (name for wanted in _NAMING for name in texts if same[wanted] & names[name])
    keys = (name for name, held in split.items() if "identifier" in held)
    return next(chain(exact, ending, meant, keys), "")
