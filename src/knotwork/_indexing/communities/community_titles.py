"""Title a community by the headings of its text, with names that set it apart.

    Mail Server: Installing Postfix (SMTP, Berkeley DB)
    虚拟化（Xen、KVM）

The headings of the documents name a theme better than any list of frequent names. A heading that
says little by itself ("Cause", "Creating a new profile") follows its parent heading, and names in
brackets distinguish communities under one heading. If no heading covers enough of the text, the
title consists of recurring names and phrases.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knotwork._text.chinese import segment
from knotwork._text.plain_text import split_number
from knotwork._text.terms import content_terms
from knotwork._transform.rules.lexicon import common_words
from knotwork._transform.rules.name_types import ADDRESS, looks_technical
from knotwork.records import Chunk, Entity

_MOSTLY = 0.65
"""Least share of the chunks under a heading that alone names the theme."""
_LEAST_ALONE = 0.4
"""The same for a generic heading, used if no other heading covers enough."""
_LEAST_EACH = 0.2
"""Least share of the chunks under each of several headings."""
_MOST_TERMS = 3
_MOST_NAMES = 2
"""Names placed before phrases if no heading names the theme."""
_LONGEST = 80
"""Most characters of a heading, and of a title with added names."""
_ENOUGH_NAMES = 6
"""Most candidate names for a title; some repeat its heading and are dropped."""
_FEWEST_WORDS = 3
"""Words (nouns in Chinese) with which a heading needs no parent heading as context."""
_LONGEST_CONTEXT = 48

VALUES = frozenset({"DATE", "NUMBER"})
_NAMELESS = VALUES | {"FILE", ADDRESS}
"""Types of entities whose names never describe a theme."""

_FILE = re.compile(
    r"(?:~|\.{0,2})[/\\]\S*|\S+[/\\]\S+\.\w{1,5}"
    r"|.+\.(?:txt|md|rst|pdf|docx?|pptx?|xlsx?|html?|csv|json|xml|ya?ml|toml)",
    re.IGNORECASE,
)
_DOTTED = re.compile(r".*\w\.(?:[a-z]{2,4}|[a-z]+\d)")
"""Names of files and hosts: "pg_wal.tar", "example.net"."""
_PATH = re.compile(r"(?<![\w.])[~.]{0,2}/[\w./-]+", re.ASCII)
_EVERYWHERE = re.compile(
    r"(?:an? )?(?:introduction|overview|summary|conclusions?|description|notes?|parameters?"
    r"|options?|arguments|examples?|usage|synopsis|compatibility|see also|references?|files?"
    r"|details|general|contents?|table of contents|index|preface|about|background|appendix"
    r"|environment|author\(?s?\)?|history|diagnostics|exit status|name|caveats|main|abstract"
    r"|acknowledge?ments|chapter \w+"
    r"|简介|簡介|概述|概要|介绍|介紹|说明|說明|描述|示例|例子|参考|參考|参考资料|參考資料|总结|總結|结论|結論|目录|目錄"
    r"|前言|附录|附錄|背景|注意|备注|參數|参数|选项|選項|其他|外部链接|外部連結|相关条目|註釋|注释|参见|參見)",
    re.IGNORECASE,
)
"""Generic headings, found in any text."""
_HEADS_OF_TABLES = re.compile(
    r"(?:(?:column|type|description|name|value|default|example|operator|function|event|return)s?"
    r"(?:\s+|$))+",
    re.IGNORECASE,
)
"""Names that consist of generic column headers of tables."""
_NAME_START = re.compile(r"[^\W_]|[“‘《「]")
"""What a name begins with; others, such as "[3]From Local to Global", are marks and references."""
_LATIN = re.compile(r"[A-Za-z][\w.+#-]*", re.ASCII)
_HAN = re.compile("[\u3400-\u9fff]")
_PROPER = ("nr", "ns", "nt", "nz", "eng")
_NOUNS = ("n", "vn", "an", "j", "l", "eng")
_GERUND = re.compile(r"[A-Z]?[a-z]+ing\b")


class ThemeHeading(NamedTuple):
    """A heading, the number of read chunks under it, and its parent headings, outermost first."""

    title: str
    chunks: int
    above: tuple[str, ...] = ()

    @property
    def bare(self) -> str:
        """The title without its number."""
        return split_number(self.title)[1]


def headings_above(chunks: Iterable[Chunk]) -> tuple[ThemeHeading, ...]:
    """Return the headings and document titles of chunks, the most frequent first."""
    paths: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for chunk in chunks:
        title = "" if _is_file_stem(chunk.document_title) else chunk.document_title
        path = tuple(t for t in dict.fromkeys((title, *chunk.headings)) if t)
        for depth, title in enumerate(path):
            paths[title][path[:depth]] += 1
    found = [
        ThemeHeading(title, counts.total(), min(counts, key=lambda path: (-counts[path], path)))
        for title, counts in paths.items()
    ]
    return tuple(sorted(found, key=lambda heading: (-heading.chunks, heading.title)))


def _is_file_stem(title: str) -> bool:
    """Return True if a title was made of a file name: all its words are in lower case."""
    return title.isascii() and title.islower() and " " in title


def name_theme(
    headings: Sequence[ThemeHeading], chunks: int, names: Sequence[str], phrases: Sequence[str]
) -> str:
    """Return the title of a community, or "" if there is no heading, name or phrase to use.

    ``chunks`` is the number of chunks that the headings were collected from. ``names`` and
    ``phrases`` are ordered by importance.
    """
    usable = [heading for heading in headings if _names_a_theme(heading.bare)]
    usable.sort(key=lambda h: (-h.chunks, -len(h.above), h.title))
    main = _deepest(usable, _MOSTLY * chunks)
    if main is None:
        chosen = _covering([h for h in usable if _says_enough(h)], chunks)
        if len(chosen) > 1:
            return _joined([heading.bare for heading in chosen])
        main = chosen[0] if chosen else _deepest(headings, _LEAST_ALONE * chunks)
    if main is None:
        return _joined(_distinct((*names[:_MOST_NAMES], *phrases, *names[_MOST_NAMES:])))
    below = _covering([h for h in usable if main.title in h.above], chunks)
    return _with_details(_in_context(main), (*(heading.bare for heading in below), *names))


def names_a_theme(title: str) -> bool:
    """Return True if a title names a theme: it is neither generic, nor a file, nor a common word.

    Titles such as "Summary", "Cause" and "notes.txt" do not.
    """
    bare = split_number(title)[1]
    return _is_specific(bare) and not _is_common(bare)


def distinctive_names(entities: Iterable[Entity], sentences: Sequence[str]) -> list[str]:
    """Return the names of entities that describe a theme, in the order of the entities.

    They occur several times in the sentences, or once if no name occurs more often. Excluded are
    values, files, addresses, common words, column headers, and names that add no word to an earlier
    one.
    """
    text = "\n".join(sentences)
    times: dict[str, int] = {}
    for entity in entities:
        name = entity.name
        if entity.is_keyword or entity.type in _NAMELESS or not _can_tell(name):
            continue
        count = _count(name, text)
        if not count or any(_overlap(name, other) for other in times):
            continue
        if not entity.type and name.istitle() and _count(name.lower(), text) >= count:
            continue  # a common word that begins a sentence
        times[name] = count
        if sum(count > 1 for count in times.values()) == _ENOUGH_NAMES:
            break
    return [name for name in times if times[name] > 1] or list(times)


def _deepest(headings: Iterable[ThemeHeading], least: float) -> ThemeHeading | None:
    """Return the deepest heading that has at least ``least`` chunks, or None."""
    broad = [heading for heading in headings if heading.chunks >= least]
    return min(broad, key=lambda h: (-len(h.above), -h.chunks, h.title), default=None)


def _covering(headings: Iterable[ThemeHeading], chunks: int) -> list[ThemeHeading]:
    """Return the first headings that together cover most chunks, none of them nested in another."""
    chosen: list[ThemeHeading] = []
    for heading in headings:
        covered = sum(other.chunks for other in chosen)
        if len(chosen) == _MOST_TERMS or covered >= _MOSTLY * chunks:
            break
        if heading.chunks >= _LEAST_EACH * chunks and not any(
            heading.title in other.above
            or other.title in heading.above
            or _overlap(heading.bare, other.bare)
            for other in chosen
        ):
            chosen.append(heading)
    return chosen


def _in_context(heading: ThemeHeading) -> str:
    """Return a heading; one that says too little follows its nearest parent that names a theme."""
    if _says_enough(heading):
        return heading.bare
    path = [ThemeHeading(t, 0, heading.above[:depth]) for depth, t in enumerate(heading.above)]
    above = [
        h for h in reversed(path) if _names_a_theme(h.bare) and len(h.bare) <= _LONGEST_CONTEXT
    ]
    if not above:
        return heading.bare
    specific = (h for h in above if _says_enough(h, least=_FEWEST_WORDS - 1))
    context = next(specific, above[0]).bare
    return f"{context}{'：' if _HAN.search(context) else ': '}{heading.bare}"


def _with_details(title: str, terms: Iterable[str]) -> str:
    """Add, in brackets, terms that distinguish a community from others under the same heading."""
    added: list[str] = []
    for term in terms:
        room = _LONGEST - len(title) - sum(map(len, added))
        if len(added) == _MOST_TERMS - 1:
            break
        if len(term) <= room and not any(_overlap(term, other) for other in (title, *added)):
            added.append(term)
    if not added:
        return title
    chinese = _HAN.search(title) is not None
    listed = _listed(added, chinese=chinese)
    return f"{title}（{listed}）" if chinese else f"{title} ({listed})"


def _distinct(terms: Iterable[str]) -> list[str]:
    """Return the first terms that have no word in common."""
    chosen: dict[str, set[str]] = {}
    for term in terms:
        words = set(content_terms(term))
        if len(chosen) < _MOST_TERMS and not any(words & other for other in chosen.values()):
            chosen[term] = words
    return list(chosen)


def _joined(items: Sequence[str]) -> str:
    return _listed(items, chinese=any(map(_HAN.search, items)))


def _listed(items: Sequence[str], *, chinese: bool) -> str:
    """Join items with the language's comma, or with semicolons if an item contains a comma."""
    sign, stronger = ("、", "；") if chinese else (", ", "; ")
    return (stronger if any(sign.strip() in item for item in items) else sign).join(items)


def _names_a_theme(bare: str) -> bool:
    return len(bare) <= _LONGEST and _is_specific(bare)


def _is_specific(title: str) -> bool:
    """Return True if a title has content words and is neither generic nor a file name."""
    return bool(content_terms(title)) and not (
        _EVERYWHERE.fullmatch(title) or _FILE.fullmatch(title)
    )


def _says_enough(heading: ThemeHeading, *, least: int = _FEWEST_WORDS) -> bool:
    """Return True if a heading names a theme without its parent heading.

    A leading gerund ("Creating a new profile") and file paths do not count as words.
    """
    bare = _PATH.sub(" ", heading.bare).strip()
    if any(map(_is_technical, _LATIN.findall(bare))):
        return True
    if not heading.above:
        return not (bare.islower() and bare.isalpha())
    if _HAN.search(bare):
        return sum(word.tag.startswith(_NOUNS) for word in segment(bare)) >= least
    doing = _GERUND.match(bare)
    return len(content_terms(bare[doing.end() :] if doing else bare)) >= least


def _can_tell(name: str) -> bool:
    if not _NAME_START.match(name):
        return False
    forms = (_FILE, _DOTTED, _HEADS_OF_TABLES)
    return not (any(form.fullmatch(name) for form in forms) or _is_common(name))


def _is_common(name: str) -> bool:
    """Return True if a name is a single common word."""
    if _HAN.search(name):
        words = segment(name)
        return len(words) == 1 and not words[0].tag.startswith(_PROPER)
    return name.isalpha() and (name.islower() or name.casefold() in common_words())


def _is_technical(word: str) -> bool:
    """Return True if a word is written like an acronym or an identifier in code."""
    return (len(word) > 1 and word.isupper()) or looks_technical(word)


def _count(name: str, text: str) -> int:
    """Return how often a text contains a name, case-sensitive and not within a Latin word."""
    count, start = 0, text.find(name)
    while start >= 0:
        end = start + len(name)
        count += not (_is_latin(text[start - 1 : start]) or _is_latin(text[end : end + 1]))
        start = text.find(name, end)
    return count


def _is_latin(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _overlap(one: str, other: str) -> bool:
    terms, others = set(content_terms(one)), set(content_terms(other))
    return terms <= others or others <= terms
