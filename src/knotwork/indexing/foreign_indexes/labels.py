"""Convert names, types and relations of other systems to the labels of this one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from knotwork.text.names import normal_form
from knotwork.transform.model.reply_records import UNNAMED_RELATION

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
    """Return a type as this system writes it: in capitals, places as PLACE, unknown ones as ""."""
    folded = " ".join(kind.replace("_", " ").split()).upper()
    return _TYPES.get(folded, folded)


def one_line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def join_sentences(texts: Iterable[str]) -> str:
    """Return distinct texts as one, with a stop where one of them has none at its end."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    ended = [text if text.endswith(_ENDS) else f"{text}." for text in distinct[:-1]]
    return " ".join([*ended, *distinct[-1:]])


def name_relation(source: str, target: str, description: str) -> str:
    """Return the words between two names in a description: "leads" of "Ada leads the Squad.".

    Returns "" where the description does not begin with the source, or where what stands before the
    target is more than a few words, or names something else.
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


def say_relation(source: str, relation: str, target: str, description: str) -> str:
    """Return a description that names the relation, for a system that keeps no other name of it.

    `split_relation` reads it back.
    """
    found, rest = split_relation(source, target, description)
    unnamed = unnamed_relation(source + target + description)
    if (found or unnamed, rest) == (relation, description):
        return description
    told = _sentence(source, relation, target)
    return f"{told}: {description}" if description else f"{told}."


def split_relation(source: str, target: str, description: str) -> tuple[str, str]:
    """Return the relation that a description names, or "", and what it says beside that."""
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


def _sentence(source: str, relation: str, target: str) -> str:
    gap = "" if _HAN.search(relation) else " "
    return f"{source}{gap}{relation}{gap}{target}"


def _is_plain(relation: str, gap: str) -> bool:
    """Tell whether words may be a relation that stands between two names, parted by ``gap``."""
    words = relation.split()
    return (
        relation == " ".join(words)
        and len(words) <= _LONGEST_WORDS
        and (gap == "") == bool(_HAN.search(relation))
        and not _STOPS.search(relation)
        and not {word.lower() for word in (words[0], words[-1])} & _JOINTS
    )


def unnamed_relation(text: str) -> str:
    """Return the relation of two things of which a text says not how they are related."""
    return UNNAMED_RELATION["zh" if _HAN.search(text) else "en"]


def written_name(name: str, description: str) -> str:
    """Return a name as people write it, where another system wrote it all in capitals.

    Its description mostly begins with it.
    """
    if not is_shouted(name):
        return name
    text = one_line(description)
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    if found and normal_form(found[0]) == normal_form(name):
        return found[0]
    return name


def is_shouted(name: str) -> bool:
    """Tell whether a name is written in capitals, as whole indexes of some systems are."""
    return name.isupper() and name != name.lower()


def _opens(text: str, place: int) -> bool:
    """Tell whether a word may begin at a place; Han characters stand without spaces."""
    before = text[place - 1 : place]
    return not before.isalnum() or _HAN.match(before) is not None


def _after_name(text: str, name: str) -> int | None:
    opening = _LEADING_ARTICLE.match(text)
    for start in (0, opening.end() if opening else 0):
        if text[start : start + len(name)].casefold() == name.casefold():
            end = start + len(name)
            if _HAN.search(name) or not text[end : end + 1].isalnum():
                return end
    return None
