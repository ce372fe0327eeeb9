"""Read facts from a statement by rules: who is, lives or works where, since when, no longer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knotwork._synthesis.memory_evidence import SPEAKER
from knotwork._text.moments import read_moment

_REMEMBER = re.compile(
    r"^\W*(?:please )?(?:remember|note|keep in mind)(?: that)?[:,]?\s+|^(?:请)?记住[:：,，]?\s*",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"^(?P<subject>I|[Ww]e|(?:[Mm]y|[Oo]ur|[Tt]he) [\w ]{1,40}?"
    r"|[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,4})"
    r"(?P<ended> no longer| not any ?more)?"
    r" (?P<relation>am|is|are|was|lives? in|works? (?:for|at|as|in|on)|stud(?:y|ies) (?:at|in)"
    r"|moved to|knows?|likes?|uses?|owns?|speaks?|costs?|(?:has|have)(?= (?:an?|the|no|\d))|leads?"
    r"|manages?|belongs? to|reports? to|prefers?)"
    r" (?P<object>(?:[^.;,]|[.,](?=\d))+?)"
    r"(?:,? (?:since|from|as of|starting)(?: on)? (?P<since>[^.;]+?))?"
    r"(?P<later> now| anymore)?[.!]?$"
)
_CHINESE = re.compile(
    r"^(?:(?:自|从)?(?P<since>\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?)起?[,，]?)?"
    r"(?P<subject>我|我们|[\u3400-\u9fff·]{2,16}?)(?P<ended>不再)?"
    r"(?P<relation>住在|是|在|喜欢|认识|使用|负责|属于)(?P<object>[^。，,；;]{1,30}?)"
    r"(?P<later>工作)?[。！]?$"
)
_SAME = {
    "am": "is", "are": "is", "live in": "lives in", "moved to": "lives in", "work for": "works for",
    "work at": "works for", "works at": "works for", "work as": "works as", "work in": "works in",
    "work on": "works on", "study at": "studies at", "study in": "studies in", "know": "knows",
    "like": "likes", "use": "uses", "own": "owns", "speak": "speaks", "cost": "costs",
    "have": "has", "lead": "leads", "manage": "manages", "belong to": "belongs to",
    "report to": "reports to", "prefer": "prefers",
}  # fmt: skip
_NO_SUBJECT = re.compile(
    r"^(?:who|whom|whose|what|which|when|where|why|how|he|she|it|they|this|that|there|these|those"
    r"|here|is|are|do|does|did|can|the (?:question|answer))\b|谁|什么|哪|多少|怎么|^[他她它这那]",
    re.IGNORECASE,
)
_NO_OBJECT = re.compile(r"^(?:not|\w+ing|sure|interested|curious|questions?|to|been|no idea)\b")
_ARTICLE = re.compile(r"^(?:an?|the) ")
_STATES_OF_BEING = frozenset({"am", "is", "are", "was", "has", "have"})
_ASKS = re.compile("[吗呢谁几]|什么|哪|多少|怎么|如何")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_OWN_PERSON = re.compile(
    r"(?:[Mm]y|[Oo]ur) (?P<role>[a-z][a-z -]*?) (?P<name>[A-Z]\S*(?: [A-Z]\S*)*)"
)
_OWN_PERSON_ZH = re.compile(
    r"我们?的?(?P<role>同事|同学|经理|老板|上司|下属|助理|助手|客户|朋友|男友|女友|妻子|太太|老婆|丈夫|先生|老公|女儿|儿子"
    r"|母亲|妈妈|父亲|爸爸|姐姐|妹妹|哥哥|弟弟|表姐|表妹|表哥|表弟|姑姑|叔叔|舅舅|阿姨|邻居|室友|导师|老师|学生|医生|律师)"
    r"(?P<name>[\u3400-\u9fff·]{1,8})"
)


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact as stated. ``ended``: it no longer holds.

    Times are moments of the precision that was stated (`knotwork._text.moments`), "" if none was.
    """

    subject: str
    relation: str
    object: str
    since: str = ""
    until: str = ""
    ended: bool = False


def read_facts(text: str) -> list[StatedFact]:
    """Return the facts of a statement; questions state none."""
    found = []
    for sentence in split_statements(text):
        said = _REMEMBER.sub("", sentence)
        if not said or said.endswith(("?", "？")):
            continue
        match = _ENGLISH.match(said) or _CHINESE.match(said)
        if match is not None and _states_fact(match):
            found += _make_facts(match)
    return found


def split_statements(text: str) -> list[str]:
    """Return the sentences of a statement."""
    return [part.strip() for part in _SENTENCE.split(text.strip()) if part.strip()]


def asks_to_remember(text: str) -> bool:
    """Return True if a text begins with "remember", "note" or the like."""
    return _REMEMBER.match(text.strip()) is not None


def without_article(text: str) -> str:
    """Return the object of a fact without its article."""
    return _ARTICLE.sub("", text)


def _states_fact(match: re.Match[str]) -> bool:
    """Return True if a match is a fact: its subject is no pronoun, and its object asks nothing."""
    if _NO_SUBJECT.search(match["subject"]) or _ASKS.search(match["object"]):
        return False
    is_state = match["relation"] in _STATES_OF_BEING
    return not (is_state and _NO_OBJECT.match(without_article(match["object"])))


def _make_facts(match: re.Match[str]) -> list[StatedFact]:
    """Return the fact of a match; with "my colleague Ina", also that Ina is a colleague."""
    own = _OWN_PERSON_ZH.fullmatch(match["subject"]) or _OWN_PERSON.fullmatch(match["subject"])
    if own is None:
        return [_make_fact(match, _subject(match["subject"]))]
    role = f"{own['role']} of" if own["role"].isascii() else own["role"]
    return [_make_fact(match, own["name"]), StatedFact(own["name"], role, SPEAKER)]


def _make_fact(match: re.Match[str], subject: str) -> StatedFact:
    relation = match["relation"]
    relation = _SAME.get(relation, relation)
    if relation == "在" and match["later"]:
        relation = "工作于"
    return StatedFact(
        subject,
        relation,
        match["object"].strip(),
        read_moment(match["since"] or ""),
        ended=bool(match["ended"]) or (match["later"] or "").strip() == "anymore",
    )


def _subject(text: str) -> str:
    if text.lower() in {"i", "we", "我", "我们"}:
        return SPEAKER
    whose, _, what = text.partition(" ")
    if whose.lower() in {"my", "our"}:
        return f"{SPEAKER}'s {what}"
    return text
