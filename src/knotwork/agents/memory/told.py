"""Facts in what a person tells, by rules: who is, lives, works where, since when, no longer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knotwork.retrieval.queries.values import read_date

SPEAKER = "the user"
"""The subject of what a person says of themself."""

_REMEMBER = re.compile(
    r"^\W*(?:please )?(?:remember|note|keep in mind)(?: that)?[:,]?\s+|^(?:请)?记住[:：,，]?\s*",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"^(?P<subject>I|we|my [\w ]{1,40}?|the [\w ]{1,40}?|[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,4})"
    r"(?P<ended> no longer| not any ?more)?"
    r" (?P<relation>am|is|are|was|lives? in|works? (?:for|at|as)|studies at|moved to|knows?|likes?"
    r"|uses?|owns?|speaks?|costs?|has|have|leads?|manages?|belongs? to|reports? to|prefers?)"
    r" (?:(?:a|an|the) )?(?P<object>[^.;,]+?)"
    r"(?:,? (?:since|from|as of|starting)(?: on)? (?P<since>[^.;]+?))?"
    r"(?P<later> now| anymore)?[.!]?$"
)
_CHINESE = re.compile(
    r"^(?:(?:自|从)?(?P<since>\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?)起?[,，]?)?"
    r"(?P<subject>我|我们|[\u3400-\u9fff]{2,8}?)(?P<ended>不再)?"
    r"(?P<relation>住在|是|在|喜欢|认识|使用|负责|属于)(?P<object>[^。，,；;]{1,30}?)"
    r"(?P<later>工作)?[。！]?$"
)
_SAME = {
    "am": "is", "are": "is", "live in": "lives in", "moved to": "lives in", "work for": "works for",
    "work at": "works for", "works at": "works for", "work as": "works as", "know": "knows",
    "like": "likes", "use": "uses", "own": "owns", "speak": "speaks", "cost": "costs",
    "have": "has", "lead": "leads", "manage": "manages", "belong to": "belongs to",
    "report to": "reports to", "prefer": "prefers",
}  # fmt: skip
_YEAR = re.compile(r"(\d{4})(?:年)?(?:(\d{1,2})月)?")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact in somebody's words; ``since`` is "" where no time is told, ``ended`` its negation."""

    subject: str
    relation: str
    object: str
    since: str = ""
    ended: bool = False


def read_told(text: str) -> list[ToldFact]:
    """Return the facts of a statement; a question tells none."""
    found = []
    for sentence in _SENTENCE.split(text.strip()):
        said = _REMEMBER.sub("", sentence.strip())
        if not said or said.endswith(("?", "？")):
            continue
        match = _ENGLISH.match(said[:1].upper() + said[1:] if said[:2] != "my" else said)
        match = match or _ENGLISH.match(said) or _CHINESE.match(said)
        if match is not None:
            found.append(_fact(match))
    return found


def _fact(match: re.Match[str]) -> ToldFact:
    relation = match["relation"]
    relation = _SAME.get(relation, relation)
    if relation == "在" and match["later"]:
        relation = "工作于"
    return ToldFact(
        _subject(match["subject"]),
        relation,
        match["object"].strip(),
        _moment(match["since"] or ""),
        ended=bool(match["ended"]) or (match["later"] or "").strip() == "anymore",
    )


def _subject(text: str) -> str:
    if text.lower() in {"i", "we", "我", "我们"}:
        return SPEAKER
    if text.lower().startswith("my "):
        return f"{SPEAKER}'s {text[3:]}"
    return text


def _moment(text: str) -> str:
    """Return a time as ISO text, the first of its month or year; "" where there is none."""
    whole = read_date(text)
    if whole:
        return whole
    year = _YEAR.search(text)
    if year is None:
        return ""
    return f"{year[1]}-{int(year[2] or 1):02d}-01"
