"""Records of a model's reply: entities, relations, complaints, and the cleaning of their text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from knotwork.inference.thinking import strip_thinking

UNNAMED_RELATION = {"en": "related to", "zh": "相关"}
"""The relation of two entities of which a reply says that, but not how, they are related."""


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity as a reply names it; ``summary`` is what it says of it, in a line."""

    name: str
    type: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation as a reply names it; ``relation`` is "" where it only has a summary."""

    source: str
    relation: str
    target: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A part of a reply that was not used, as it stood, and why; one short reason."""

    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The records of a reply, in its order, and all that could not be read.

    Every line that holds anything is a record, a complaint, ``repeated`` (said before, word for
    word) or ``idle`` (fences, rules, headings of tables, "none"). ``cut`` tells that the reply
    ended at its limit of tokens.
    """

    entities: tuple[EntityDraft, ...] = ()
    relations: tuple[RelationDraft, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    repeated: int = 0
    idle: int = 0
    cut: bool = False
    says_nothing: bool = False
    """Whether the reply says in so many words that there is nothing to say."""

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.entities) + len(self.relations)

    def with_complaints(self, complaints: Iterable[Complaint]) -> Draft:
        """Return a draft with further complaints."""
        return replace(self, complaints=(*self.complaints, *complaints))

    def joined(self, other: Draft) -> Draft:
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
"""Characters of a name; what is longer is a sentence."""

LONGEST_RELATION = 80
"""Characters of a relation; what is longer is a description."""

_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f]")
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|<br\s*/?>", re.IGNORECASE)
_ODD = re.compile(r"[^\n\t -;=-~]")
"""What a plain text of ASCII has not; ``<`` may begin a break."""
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
    """Return a reply without thinking and invisible characters, one kind of pipe and line break.

    Where nothing stands outside the thinking, the thinking is what there is to read.
    """
    text = strip_thinking(reply) or reply
    if _ODD.search(text):
        text = _CONTROL.sub(" ", _INVISIBLE.sub("", text))
        text = _BREAKS.sub("\n", text).translate(_PIPES)
    if "\n" not in text and "\\n" in text:
        text = text.replace("\\n", "\n")
    return text


def bare_line(line: str) -> str:
    """Return a line without bullets and numbers before it."""
    line = line.strip()
    while match := _LEAD.match(line):
        line = line[match.end() :]
    for left, right in ("()", "（）", "``"):
        if line.startswith(left) and line.endswith(right) and right not in line[1:-1]:
            line = line[1:-1].strip()
    return line


def is_idle(line: str) -> bool:
    """Tell whether a line is a code fence, a rule, or the line under the head of a table."""
    return bool(_FENCE.fullmatch(line) or _RULE.fullmatch(line))


def clean_field(field: str) -> str:
    """Return a field on one line, without quotes, brackets and emphasis around the whole."""
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
    if sum(field.count(mark) for mark in _ORPHANS) == 1:  # the other one was cut off
        field = field.strip(_ORPHANS)
    return field.strip()


@lru_cache(maxsize=16_384)
def fold_word(word: str) -> str:
    """Return a word as it is compared: width, case, and what stands beside letters set aside."""
    folded = unicodedata.normalize("NFKC", word).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", folded).split())


def name_fault(name: str) -> str:
    """Return why a field cannot be a name, or "" if it can."""
    if not name[:1].isalnum() and not any(character.isalnum() for character in name):
        return "a name is missing"
    if len(name) > LONGEST_NAME:
        return "a name is a whole sentence"
    return ""
