"""Find what a message states and asks, read facts from it, and word facts as sentences.

Precision comes before recall: a sentence counts as a statement of the speaker only if nothing in it
shows that it is a question, a request, a guess, a condition, or what somebody else said. Rules read
who is, lives or works where, since when, no longer; a language model reads other statements, each
fact in words of the statement. In the ends of a fact, "the user" is the person who stated it: "Ina
| colleague of | the user" becomes "Ina is your colleague".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from knotwork._extensions.agents.moments import keep_precision, read_moment
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    complete_checked,
    require_whole,
)
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_files import fill_prompt
from knotwork._inference.prompt_material import escape_tags, restore
from knotwork._synthesis.memory_evidence import SPEAKER
from knotwork._synthesis.prompt_context import says_nothing
from knotwork._text.languages import HAN_AND_KANA, HAN_OR_KANA, detect_language
from knotwork._text.terms import content_terms
from knotwork.errors import Unparsable

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

    Times are moments of the precision that was stated (`knotwork._text.dates`), "" if none was.
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
    is_at_work = relation == "在" and match["later"]
    return StatedFact(
        subject,
        "工作于" if is_at_work else _SAME.get(relation, relation),
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


LONGEST_STATEMENT = 600
"""A message of more characters is a pasted text rather than a statement of the speaker."""
MOST_SENTENCES = 6

_ENDS_AS_QUESTION = re.compile(r"[?？]\W*$|[吗呢]\W*$")
_ASKS_OR_COMMANDS = re.compile(
    r"^\W*(?:(?:please|请)\s*)?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does"
    r"|did|can|could|has|have|had|will|would|should|list|show|find|tell me|give|explain|describe"
    r"|summari[sz]e|compare|define|translate|search|look up|write|draft|make|let'?s|let me)\b"
    r"|谁|什么|哪|多少|怎么|如何|为何|^\W*(?:列出|说明|介绍|总结|比较|查找|翻译|写)",
    re.IGNORECASE,
)
_NOT_ASSERTED = re.compile(
    # a condition or an example
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|imagine|pretend|let'?s say"
    r"|hypothetical\w*|for (?:example|instance)|e\.g"
    r"|in (?:the|this|that|her|his) (?:novel|film|movie|book|story|game|play))\b"
    # a guess, a wish or a request
    r"|\b(?:might|could|would|should|maybe|perhaps|probably|possibly|presumably|apparently|allegedly"
    r"|seems?|i (?:think|guess|believe|suspect|wonder|hope|wish|doubt|want|need)|i'?d (?:like|love)"
    r"|not sure|please)\b"
    # what somebody else says
    r"|\b(?:said|says?|say|told|claim(?:s|ed)?|stat(?:es|ed)|wrote|writes|heard|argu(?:es|ed)|insist(?:s|ed)?"
    r"|report(?:s|ed) that|according to|quote|rumou?rs?)\b"
    r"|如果|假如|假设|假定|要是|倘若|万一|比如|例如|可能|也许|或许|大概|好像|似乎|听说|据说|传闻|据[^，,]{1,12}[，,]"
    r"|声称|宣称|[说称][过道]?[:：,，“\"]|认为|觉得|猜|希望|想要|想知道|请|麻烦|帮我|能不能|是否|是不是|有没有|小说|电影里",
    re.IGNORECASE,
)
_MAY = re.compile(r"\bmay\b(?! \d)|\bcan\b")
_QUOTED = re.compile(r"[“”„«»「」『』]|(?<!\w)[\"'][^\"']+[\"'](?!\w)|^\s*>")
_OF_NO_LASTING_USE = re.compile(
    r"^(?:this|that|these|those|it|its|them|you|your|how|what|when|where|why|who|which|if|to|here|there"
    r"|such|so|very|too|just|about|problems?|issues?|doubts?|ideas?|requests?|errors?|bugs?|look"
    r"|feeling|hard time|moment|minute|same)\b|^[这那你您]",
    re.IGNORECASE,
)
_NAMES_SOMETHING = re.compile(r"[A-Z0-9]|[^\x00-\x7f]")
_STATES = re.compile(r"\S\s+\S+\s+\S.*[.!]\W*$|[。！]\W*$")
_IS = frozenset({"is", "was"})
_BE_WITH_ARTICLE = re.compile(r"\b(?:am|is|are) (?:an?|the) ")


class MessageParts(NamedTuple):
    """What a message states and what it asks; ``is_explicit``: it asks to be remembered."""

    statement: str
    question: str
    is_explicit: bool = False


def split_message(text: str) -> MessageParts:
    """Return the sentences of a message that may state facts, and those that ask or command.

    Sentences that do neither are left out. A message that asks to be remembered is a statement
    from its beginning up to the first question.
    """
    sentences = split_statements(text)
    is_explicit = asks_to_remember(text) and not _ENDS_AS_QUESTION.search(sentences[0])
    stated, asked = [], []
    for number, sentence in enumerate(sentences):
        if is_asked(sentence) and not (is_explicit and number == 0):
            asked.append(sentence)
        elif is_explicit or is_asserted(sentence):
            stated.append(sentence)
    if not is_explicit and (len(text) > LONGEST_STATEMENT or len(sentences) > MOST_SENTENCES):
        return MessageParts("", text)
    return MessageParts(" ".join(stated), " ".join(asked), is_explicit)


def is_asked(sentence: str) -> bool:
    """Return True if a sentence is a question or a command."""
    return bool(_ENDS_AS_QUESTION.search(sentence) or _ASKS_OR_COMMANDS.search(sentence))


def is_asserted(sentence: str) -> bool:
    """Return True if a sentence is asserted by the speaker: no guess, condition or quotation."""
    return not (
        is_asked(sentence)
        or _NOT_ASSERTED.search(sentence)
        or _MAY.search(sentence)
        or _QUOTED.search(sentence)
    )


def may_state(statement: str) -> bool:
    """Return True if a text has the form of a statement that a model should read."""
    return bool(_STATES.search(statement))


def read_offered(statement: str) -> list[StatedFact]:
    """Return the facts of a statement that may be worth remembering unasked.

    Passing states ("I am tired", "The search is slow") and what the speaker says about this
    conversation ("I like this answer") are left out.
    """
    found = []
    for sentence in split_statements(statement):
        for fact in read_facts(sentence):
            if _OF_NO_LASTING_USE.match(without_article(fact.object)):
                continue
            is_state = fact.relation in _IS
            if is_state and not (
                _NAMES_SOMETHING.search(fact.object) or _BE_WITH_ARTICLE.search(sentence)
            ):
                continue
            found.append(fact)
    return found


_HAN_MEETS_LATIN = re.compile(
    rf"(?<=[{HAN_AND_KANA}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{HAN_AND_KANA}])"
)
_NAMES_SPEAKER = re.compile(f"{SPEAKER}|me|us|我们?")
_OF_SPEAKER = re.compile(f"^(?:(?:{SPEAKER}'s|my|our) |我们?的)")
_ROLE = re.compile(
    r"(?!(?:got|knew|ran|spoke|thought|took|wrote)\b)"
    r"(?P<verb>is |was )?(?:(?:an?|the) )?(?P<role>(?:\w*[^\W\ds]|\w*ss)(?: \w+)*) of"
)
"""A relation such as "colleague of", which needs a verb; "dreams of" has one."""

_QUALITY = re.compile(
    r"^(?:at|in|on)\b|\b(?:afraid|ahead|aware|capable|east|fond|full|jealous|kind|made|north|out|part"
    r"|proud|south|tired|type|west)$"
)
"""The end of what somebody is, as in "proud of", and does not have, as a colleague."""

_ONE_OF_MANY = re.compile(
    r"\b(?:brother|client|colleague|co-?worker|cousin|customer|daughter|employee|fan|friend|member"
    r"|neighbou?r|partner|sister|son|student|supporter)$"
)
_SECOND_PERSON = {
    "is": "are",
    "was": "were",
    "has": "have",
    "focuses": "focus",
    **{word: word for word in ("always", "sometimes", "perhaps")},
}
_SHORT_WORD = len("lies")


def state_fact(subject: str, relation: str, object_: str) -> str:
    """Return a fact as a sentence without a full stop, in Chinese if its relation is."""
    if is_chinese(relation):
        start, end = _address(subject, "你", "你的"), _address(object_, "你", "你的")
        said = f"{start}是你的{relation}" if object_ == SPEAKER else f"{start}{relation}{end}"
        return _HAN_MEETS_LATIN.sub(" ", said)
    said = _state_in_english(subject, relation, object_)
    first = said.partition(" ")[0]
    return said[:1].upper() + said[1:] if first.islower() else said


def state_times(relation: str, valid_from: str, valid_to: str | None) -> str:
    """Return the period of a fact in the language of its relation, "" if it is unknown.

    A fact that was stated without a time has the minute of that moment as its beginning.
    """
    since, until = valid_from[:10], (valid_to or "")[:10]
    is_stated = "T" not in valid_from
    if is_chinese(relation):
        begin = f"自{since}起" if is_stated else f"截至{since}"
        return "，".join([begin] * bool(since) + [f"至{until}"] * bool(until))
    begin = f"since {since}" if is_stated else f"as of {since}"
    return " ".join([begin] * bool(since) + [f"until {until}"] * bool(until))


def is_chinese(relation: str) -> bool:
    """Return True if a fact with this relation is worded in Chinese."""
    return HAN_OR_KANA.search(relation) is not None


def _state_in_english(subject: str, relation: str, object_: str) -> str:
    start, end = _address(subject, "you", "your "), _address(object_, "you", "your ")
    found = _ROLE.fullmatch(relation)
    if found is None:
        predicate = f"{relation} {end}"
    else:
        verb, role = found["verb"] or "is ", found["role"]
        if object_ == SPEAKER and not _QUALITY.search(role):
            predicate = f"{verb}your {role}"
        elif _ONE_OF_MANY.search(role):
            predicate = f"{verb}{'an' if role[0] in 'aeiou' else 'a'} {role} of {end}"
        else:
            predicate = f"{verb}{role} of {end}"
    if subject == SPEAKER:
        verb, space, rest = predicate.partition(" ")
        predicate = f"{_second_person(verb)}{space}{rest}"
    return f"{start} {predicate}"


def _address(end: str, you: str, your: str) -> str:
    """Return the end of a fact with "you" for the person who stated it."""
    if _NAMES_SPEAKER.fullmatch(end):
        return you
    return _OF_SPEAKER.sub(your, end, count=1)


def _second_person(verb: str) -> str:
    """Return a verb as it follows "you": live for lives. Verbs of the past stay."""
    if verb in _SECOND_PERSON:
        return _SECOND_PERSON[verb]
    if verb.endswith("ies"):
        return verb[:-1] if len(verb) <= _SHORT_WORD else f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return verb[:-2]
    return verb[:-1] if re.search(r"[^s]s$", verb) else verb


REMEMBER_STAGE = "remember"
REMEMBER_OUTPUT_TOKENS = 300
MOST_FACTS = 12
LONGEST_FIELD = 120
_BAR = re.compile(r"\s*[|｜]\s*")
_FIELDS = 6
_KINDS = {"fact": False, "ended": True}


def ask_for_facts(text: str, model: ChatModel, *, today: str) -> list[StatedFact]:
    """Return the facts that a model reads from a statement.

    ``today`` is the ISO date that phrases such as "since last May" refer to. Facts that are not in
    words of the statement are dropped. Raises ModelError as `complete_checked`.
    """
    blanks = {"text": escape_tags(text.strip()), "today": today, "speaker": SPEAKER}
    messages = fill_prompt(
        "knotwork._extensions.agents", "told", detect_language(text), blanks, prompts_of(model)
    )
    request = ChatRequest(messages, max_output_tokens=REMEMBER_OUTPUT_TOKENS, stage=REMEMBER_STAGE)
    return complete_checked(model, request, lambda reply: parse_facts(reply, text))


def parse_facts(reply: ChatReply, statement: str) -> list[StatedFact]:
    """Parse the facts of a reply about a statement. Raises Unparsable.

    Times are no more precise than the statement is.
    """
    said = frozenset(content_terms(statement))
    text = restore(require_whole(reply).text).strip()
    if says_nothing(text):
        return []
    facts, read = [], 0
    for line in text.splitlines():
        fields = _BAR.split(line.strip().strip("-*• "))
        if len(fields) != _FIELDS or fields[0].lower() not in _KINDS:
            continue
        read += 1
        kind, subject, relation, object_, since, until = fields
        whole = all(0 < len(field) <= LONGEST_FIELD for field in (subject, relation, object_))
        if whole and _was_said(subject, said) and _was_said(object_, said):
            ended = _KINDS[kind.lower()]
            since, until = (keep_precision(read_moment(t), statement) for t in (since, until))
            facts.append(StatedFact(subject, relation, object_, since, until, ended))
    if not read:
        raise Unparsable("The reply has no line with a fact.")
    return facts[:MOST_FACTS]


def _was_said(name: str, said: Collection[str]) -> bool:
    """Return True if a name consists of words of the statement, or means the speaker."""
    terms = content_terms(name.removeprefix(SPEAKER).removeprefix("'s"))
    return all(term in said for term in terms) and bool(terms or name.startswith(SPEAKER))
