"""Distinguish prose from markup, addresses, code and numbers.

Documents contain much text that is not a sentence: rows of badges, commands, headings, lists of
links. The share of words among its tokens distinguishes prose from it. Facts such as
``Price: 12 EUR`` and the rows of tables consist of words and numbers, and so count as prose.
"""

from __future__ import annotations

import re
import unicodedata

from knotwork._text.chinese import HAN_AND_KANA

FULL_SHARE = 0.8
"""A sentence with at least this share of words is prose; below it, the squared share counts."""

FULL_WORDS = 3
"""Sentences of fewer words weigh proportionally less."""

LEAST_WEIGHT = 0.02
"""The weight of text without any prose, which may be all that a passage has."""

FACT_WEIGHT = 0.9
"""The least weight of a labelled address, as in ``Bug reports: https://…``: it is a fact."""

HEADING_WEIGHT = 0.5
"""The weight of a heading: it names the content of its section without stating it."""

LEAD_IN_WEIGHT = 0.6
"""The weight of a lead-in, which ends with a colon or with "in three steps."."""

CODE_WEIGHT = 0.4
"""The weight of what a loader marks as code or output, whatever words it contains."""

_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)\s]*[^)]*\)|\[[^\]]*\])?")
_LINK = re.compile(r"\[([^\[\]]*)\](?:\([^)\s]*[^)]*\)|\[[^\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_MAIL_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WIDE = re.compile(f"[{HAN_AND_KANA}]+")
_OPTION = re.compile(r"--?[A-Za-z]")
# Inside a token, these mark a path, a call, an assignment, an address or a file name.
_CODE_INSIDE = re.compile(r"[\\_=<>{}\[\]()|@#^~`*$%]|://|::|/[^/]*/|[^\W\d_]{2}\.[^\W\d_]{2}")
_CODE_ALONE = re.compile(r"[\\=<>{}\[\]()@#$^~`*;%]+")
_LABELLED_ADDRESS = re.compile(r"[^\W\d_][^:：\n]{0,60}[:：]\s[^\n]{0,60}?<?(?:\w+://|www\.)\S+")
_EMPHASIS = re.compile(r"\*\*|__|`")
_HEADING = re.compile(r"#{1,6}\s")
_NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|several|the following|\d+)"
_ANNOUNCING = re.compile(
    rf"[:：]$|\b(?:as follows|in {_NUMBER} (?:steps|stages|phases|parts))\.$"
    r"|(?:分(?:为|成)?[两二三四五六七八九十几\d]+(?:大|个)?(?:步骤?|阶段|部分|类|种|点|方面)|如下|以下几[点步种类])[。；]?$",
    re.IGNORECASE,
)

_ASKING = re.compile(r"[?？][\s*_|\"'”’»」』)）]*$")


def weigh_prose(text: str) -> float:
    """Return how much of a sentence is prose, from `LEAST_WEIGHT` to 1."""
    words, others = _count_tokens(text)
    if not words:
        return LEAST_WEIGHT
    share = min(1.0, words / (words + others) / FULL_SHARE)
    weight = share**2 * min(1.0, words / FULL_WORDS)
    bare = _EMPHASIS.sub("", text).strip().lstrip("-*+• ")
    if _LABELLED_ADDRESS.fullmatch(bare):
        weight = max(weight, FACT_WEIGHT)
    if _HEADING.match(bare):
        weight *= HEADING_WEIGHT
    if announces(bare):
        weight *= LEAD_IN_WEIGHT
    return max(weight, LEAST_WEIGHT)


def is_question(text: str) -> bool:
    """Return True if a sentence ends as a question, whatever marks surround it."""
    return _ASKING.search(text) is not None


def announces(text: str) -> bool:
    """Return whether a sentence announces what follows it: "The values are as follows."."""
    return _ANNOUNCING.search(text.strip()) is not None


def _count_tokens(text: str) -> tuple[float, int]:
    """Return the number of words in a text, and that of other tokens.

    A link counts as its words and one token, an image or a tag as one token, an e-mail address as
    a word. In scripts without spaces, two characters count as a word.
    """
    plain, images = _IMAGE.subn(" ", _MAIL_ADDRESS.sub("address", text))
    linked, links = _LINK.subn(r" \1 ", plain)
    bare, tags = _TAG.subn(" ", linked)
    words, others = 0.0, images + links + tags
    for token in _WIDE.sub(r" \g<0> ", bare).split():
        core = _strip_marks(token)
        if not core:
            others += bool(_CODE_ALONE.search(token))
        elif _OPTION.match(token) or _CODE_INSIDE.search(core):
            others += 1
        elif _WIDE.match(core):
            words += len(core) / 2
        else:
            words += 1
    return words, others


def _strip_marks(token: str) -> str:
    start, end = 0, len(token)
    while start < end and not _is_of_word(token[start]):
        start += 1
    while end > start and not _is_of_word(token[end - 1]):
        end -= 1
    return token[start:end]


def _is_of_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


_SHORTEST = 30
_SHORTEST_WIDE = 12
_LONGEST = 500
_HAN = re.compile("[\u3400-\u9fff]")
_WIDE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")
_LEAST_LETTERS = 0.6
_MARKUP = re.compile(r"\||<[!/?A-Za-z]|[{}]|\w_\w+_\w")
_ASCII = re.compile(r"[\x00-\x7f]+")
_NO_LETTERS = bytes(b for b in range(128) if not (chr(b).isalpha() or chr(b).isspace()))


def flat_text(text: str) -> str:
    """Return text on one line; line breaks within Chinese text leave no space."""
    return " ".join((text if text.isascii() else _WIDE_BREAK.sub("", text)).split())


def is_prose(text: str) -> bool:
    """Return False if a sentence is too short or too long, mostly numbers, or markup."""
    length = len(text)
    if not _SHORTEST_WIDE <= length <= _LONGEST:
        return False
    if length < _SHORTEST and not _HAN.search(text):
        return False
    return _count_letters(text) >= _LEAST_LETTERS * length and _MARKUP.search(text) is None


def _count_letters(text: str) -> int:
    count = len(text.encode("ascii", "ignore").translate(None, _NO_LETTERS))
    if not text.isascii():
        rest = _ASCII.sub("", text)
        count += sum(map(str.isalpha, rest)) + sum(map(str.isspace, rest))
    return count
