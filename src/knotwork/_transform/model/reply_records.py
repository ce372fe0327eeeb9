"""The records of a model's reply (entities, relations, complaints), and cleaning of their text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from knotwork._inference.prompt_material import restore
from knotwork._inference.thinking import strip_thinking

UNNAMED_RELATION = {"en": "related to", "zh": "相关"}
"""The name of a relation for which a reply has only a summary."""


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity as a reply names it, with a one-line summary."""

    name: str
    type: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation as a reply names it; ``relation`` is "" if it has only a summary."""

    source: str
    relation: str
    target: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A part of a reply that was not used, verbatim, and a short reason."""

    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The records of a reply in order, and complaints about the rest.

    Every line that is not empty is a record, a complaint, ``repeated`` (equal to an earlier line)
    or ``idle`` (fences, rules, table headers, "none"). ``cut`` is True if the reply was cut off at
    its token limit.
    """

    entities: tuple[EntityDraft, ...] = ()
    relations: tuple[RelationDraft, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    repeated: int = 0
    idle: int = 0
    cut: bool = False
    says_nothing: bool = False
    """True if the reply explicitly says that there are no records."""

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.entities) + len(self.relations)

    def with_complaints(self, complaints: Iterable[Complaint]) -> Draft:
        """Return this draft with further complaints."""
        return replace(self, complaints=(*self.complaints, *complaints))

    def merged(self, other: Draft) -> Draft:
        """Return the records and complaints of two replies about one chunk, each record once."""
        return Draft(
            tuple(dict.fromkeys((*self.entities, *other.entities))),
            tuple(dict.fromkeys((*self.relations, *other.relations))),
            (*self.complaints, *other.complaints),
            self.repeated + other.repeated,
            self.idle + other.idle,
            cut=self.cut or other.cut,
            says_nothing=self.says_nothing and other.says_nothing,
        )


LONGEST_NAME = 120
"""Most characters of a name; a longer one is a sentence."""

LONGEST_RELATION = 80
"""Most characters of a relation; a longer one is a description."""

_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f]")
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|<br\s*/?>", re.IGNORECASE)
_ODD = re.compile(r"[^\n\t -;=-~]")
"""Characters that may need normalising; ``<`` may begin a line break."""
_PIPES = str.maketrans(dict.fromkeys("｜¦│┃║∣❘", "|"))
_LEAD = re.compile(
    r"(?:[-*+•·●▪◦‣–—>#►]+(?=[\s|*`(\[\"“]|entity|relation|实体|关系)"
    r"|[(（\[]?\d{1,4}[.)、:：．）\]]+(?=\D)"
    r"|[①-⑳])[\s]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(?:`{3,}|~{3,})\s*[\w+-]*")
_RULE = re.compile(r"[\s|:+=_*#.\-–—─]*")
_WRAPPERS = (
    ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("`", "`"),
    ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("<", ">"), ("[", "]"), ("【", "】"),
    ("{", "}"), ("（", "）"), ("(", ")"), ("``", "''"), ("＂", "＂"),
)  # fmt: skip
_LEFTS = frozenset(left[0] for left, _ in _WRAPPERS)
_RIGHTS = frozenset(right[-1] for _, right in _WRAPPERS)
_ORPHANS = '"“”`*＂'


def plain_text(reply: str) -> str:
    """Return a reply without thinking and invisible characters, with uniform pipes and line breaks.

    If there is nothing but thinking, return that. Control tokens and tags that it quotes are
    written as in the document again.
    """
    text = restore(strip_thinking(reply) or reply)
    if _ODD.search(text):
        text = _CONTROL.sub(" ", _INVISIBLE.sub("", text))
        text = _BREAKS.sub("\n", text).translate(_PIPES)
    if "\n" not in text and "\\n" in text:
        text = text.replace("\\n", "\n")
    return text


def bare_line(line: str) -> str:
    """Return a line without leading bullets and numbers."""
    line = line.strip()
    while match := _LEAD.match(line):
        line = line[match.end() :]
    for left, right in ("()", "（）", "``"):
        if line.startswith(left) and line.endswith(right) and right not in line[1:-1]:
            line = line[1:-1].strip()
    return line


def is_idle(line: str) -> bool:
    """Return True if a line is a code fence, a rule, or the line below a table header."""
    return bool(_FENCE.fullmatch(line) or _RULE.fullmatch(line))


def clean_field(field: str) -> str:
    """Return a field on one line, without quotes, brackets or emphasis around it."""
    field = " ".join(field.split())
    if field[:1].isalnum() and field[-1:].isalnum():
        return field
    changed = field[:1] in _LEFTS and field[-1:] in _RIGHTS
    while changed and field:
        changed = False
        for left, right in _WRAPPERS:
            wide = len(left) + len(right)
            if len(field) > wide and field.startswith(left) and field.endswith(right):
                inner = field[len(left) : -len(right)]
                if left not in inner and right not in inner:
                    field, changed = inner.strip(), True
    if sum(field.count(mark) for mark in _ORPHANS) == 1:  # its partner was cut off
        field = field.strip(_ORPHANS)
    return field.strip()


@lru_cache(maxsize=16_384)
def fold_word(word: str) -> str:
    """Return a word for comparison, without differences of width, case and punctuation."""
    folded = unicodedata.normalize("NFKC", word).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", folded).split())


def name_fault(name: str) -> str:
    """Return the reason why a field cannot be a name, or "" if it can."""
    if not name[:1].isalnum() and not any(character.isalnum() for character in name):
        return "a name is missing"
    if len(name) > LONGEST_NAME:
        return "a name is a whole sentence"
    return ""
