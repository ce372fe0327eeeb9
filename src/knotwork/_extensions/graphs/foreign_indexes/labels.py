"""Convert names, types and relations of other systems to the conventions of Knotwork."""

from __future__ import annotations

import re
from collections.abc import Iterable

from knotwork._extensions.model_indexing.reply_formats import UNNAMED_RELATION
from knotwork._text.names import normal_form

_TYPES = {
    "GEO": "PLACE",
    "LOCATION": "PLACE",
    "ORGANISATION": "ORGANIZATION",
    "UNKNOWN": "",
    "OTHER": "",
    "NONE": "",
}
_LONGEST_WORDS = 6
_LONGEST_HAN = 12
_HAN = re.compile("[\u3400-\u9fff]")
_STOPS = re.compile(r"[.,;:!?。，；：！？\n]")
_NO_LABEL = re.compile(
    r"[.,;:!?()\[\]\"“”。，；：！？（）「」《》]|^['’]|[^\W\d_a-z\u3400-\u9fff]|\d"
)
_JOINTS = frozenset({"and", "or", "&", "和", "与", "及"})
_ENDS = (".", "!", "?", "…", "。", "！", "？", '"', "”", ")", "）", ";", "；", ":", "：")
_ARTICLE = re.compile(r"\s+(?:the|an?)$", re.IGNORECASE)
_LEADING_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)


def plain_type(kind: str) -> str:
    """Return a type in capitals, with places as PLACE and unknown types as ""."""
    folded = " ".join(kind.replace("_", " ").split()).upper()
    return _TYPES.get(folded, folded)


def one_line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def join_sentences(texts: Iterable[str]) -> str:
    """Join distinct texts, adding missing full stops between them."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    ended = [text if text.endswith(_ENDS) else f"{text}." for text in distinct[:-1]]
    return " ".join([*ended, *distinct[-1:]])


def name_relation(source: str, target: str, description: str) -> str:
    """Return the words between two names in a description: "leads" for "Ada leads the Squad.".

    Return "" if the description does not begin with the source, or if the words before the target
    are too many or contain another name.
    """
    text = one_line(description)
    begin = _after_name(text, source)
    if begin is None:
        return ""
    places = re.finditer(re.escape(target), text[begin:], re.IGNORECASE)
    end = next((begin + p.start() for p in places if _opens(text, begin + p.start())), None)
    if end is None:
        return ""
    between = _ARTICLE.sub("", text[begin:end].rstrip('"“ ')).strip()
    words = between.split()
    size = len(words) + len(_HAN.findall(between)) * _LONGEST_WORDS / _LONGEST_HAN
    if not words or size > _LONGEST_WORDS or _NO_LABEL.search(between):
        return ""
    return "" if {words[0].lower(), words[-1].lower()} & _JOINTS else between


def describe_relation(source: str, relation: str, target: str, description: str) -> str:
    """Return a description that includes the relation, for systems without a column for it.

    `split_relation` is the inverse.
    """
    found, rest = split_relation(source, target, description)
    unnamed = unnamed_relation(source + target + description)
    if (found or unnamed, rest) == (relation, description):
        return description
    gap = "" if _HAN.search(relation) else " "
    sentence = f"{source}{gap}{relation}{gap}{target}"
    return f"{sentence}: {description}" if description else f"{sentence}."


def split_relation(source: str, target: str, description: str) -> tuple[str, str]:
    """Return the relation in a description, or "", and the rest of the description."""
    for gap in (" ", ""):
        if not description.startswith(f"{source}{gap}"):
            continue
        begin = len(source) + len(gap)
        for ending in (f"{gap}{target}: ", f"{gap}{target}."):
            place = description.find(ending, begin)
            relation, rest = description[begin:place], description[place + len(ending) :]
            whole = ending.endswith(" ") or not rest
            if place > begin and whole and _is_plain(relation, gap):
                return relation, rest
    return name_relation(source, target, description), description


def _is_plain(relation: str, gap: str) -> bool:
    """Return True if words may be a relation between two names, separated by ``gap``."""
    words = relation.split()
    return (
        relation == " ".join(words)
        and len(words) <= _LONGEST_WORDS
        and (gap == "") == bool(_HAN.search(relation))
        and not _STOPS.search(relation)
        and not {word.lower() for word in (words[0], words[-1])} & _JOINTS
    )


def unnamed_relation(text: str) -> str:
    """Return the generic name of an unnamed relation, in the language of a text."""
    return UNNAMED_RELATION["zh" if _HAN.search(text) else "en"]


def written_name(name: str, description: str) -> str:
    """Return the usual spelling of a name that another system wrote in capitals.

    It is taken from the description, which mostly begins with the name.
    """
    if not is_in_capitals(name):
        return name
    text = one_line(description)
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    if found and normal_form(found[0]) == normal_form(name):
        return found[0]
    return name


def is_in_capitals(name: str) -> bool:
    """Return True if a name is written in capitals, as all names of some systems are."""
    return name.isupper() and name != name.lower()


def _opens(text: str, place: int) -> bool:
    """Return True if a word may begin at a position; Chinese words have no spaces."""
    before = text[place - 1 : place]
    return not before.isalnum() or _HAN.match(before) is not None


def _after_name(text: str, name: str) -> int | None:
    """Return the position after a name at the beginning of a text, or None."""
    opening = _LEADING_ARTICLE.match(text)
    for start in (0, opening.end() if opening else 0):
        if text[start : start + len(name)].casefold() == name.casefold():
            end = start + len(name)
            if _HAN.search(name) or not text[end : end + 1].isalnum():
                return end
    return None
