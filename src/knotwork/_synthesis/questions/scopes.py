"""Read the scope of a question: the whole, a document, a topic or a number.

Patterns of English and Chinese questions find it; others have none, and are searched for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class ScopeKind(StrEnum):
    """What is summarised or counted."""

    WHOLE = "whole"
    """All documents."""
    PART = "part"
    """A document or a section."""
    TOPIC = "topic"
    """What the documents say about ``subject``."""
    THING = "thing"
    """What they say about the entity ``subject``: a language model gets the graph around it, not
    community reports."""
    RANKING = "ranking"
    """The entities of a type, by how often they are mentioned; ``subject`` is the word for them."""
    LISTING = "listing"
    """The titles of documents or sections, and their number; ``subject`` is the word for them."""
    MENTIONS = "mentions"
    """How often, and where, ``subject`` is mentioned."""


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """What a question asks for. See `ScopeKind` for ``subject``.

    ``named`` is a phrase that may name a document or section, which is then summarised, or searched
    for the topic. A scope that is not ``is_sure`` holds only if there is such a document. ``limit``
    is the number of entities asked for, 0 if none is stated. ``by_importance`` asks for important
    entities rather than for those mentioned often.
    """

    kind: ScopeKind
    subject: str = ""
    named: str = ""
    is_sure: bool = True
    limit: int = 0
    by_importance: bool = False

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is composed from communities."""
        return self.kind is ScopeKind.WHOLE or self.by_importance


_QUOTED = re.compile("^[《“「『]([^》”」』]+)[》”」』]")
_MENTIONED_OFTEN = re.compile(r"mention|nam|cit|refer|discuss|common|frequent")


def read_count(
    text: str, rankings: tuple[re.Pattern[str], ...], mentions: tuple[re.Pattern[str], ...]
) -> QuestionScope | None:
    """Return the scope of a counting question by the patterns of a language; else None."""
    for form in rankings:
        if found := form.search(text):
            parts = found.groupdict()
            most = (parts.get("most") or "").casefold()
            return QuestionScope(
                ScopeKind.RANKING,
                parts["noun"].casefold(),
                limit=int(parts.get("limit") or 0),
                by_importance=bool(most) and not _MENTIONED_OFTEN.search(most),
            )
    for form in mentions:
        if found := form.match(text):
            return QuestionScope(ScopeKind.MENTIONS, bare_name(found["subject"]))
    return None


def bare_name(phrase: str) -> str:
    """Return a phrase without surrounding quotes."""
    quoted = _QUOTED.match(phrase)
    return quoted[1] if quoted else phrase.strip(" \"'“”‘’「」『』")


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One of the questions in a compound question.

    ``asked`` is its own wording, ``text`` can be understood without the other parts.
    """

    asked: str
    text: str


@dataclass(frozen=True, slots=True)
class DividedQuestion:
    """The parts of a compound question, in order.

    ``compared`` are the two names of a comparison; empty for any other question.
    """

    parts: tuple[SubQuestion, ...]
    compared: tuple[str, ...] = ()


_MOST_NAME_WORDS = 12
_END = r"[\s?.!？。！]*$"

_TEXT = (
    r"(?:documents?|docs|files?|texts?|corpus|collections?|materials?|data ?sets?|knowledge base"
    r"|papers?|articles?|notes?|sources?|transcripts?|reports?|manuals?|handbooks?|guides?|books?"
    r"|story|stories|novels?|documentation|website|site|pages?|wiki|library|folder|index|tales?"
    r"|chapters?|sections?|contents?|contracts?|polic(?:y|ies)|tutorials?|transcript|e-?mails?)"
)
_POLITE = (
    r"(?:(?:please|kindly|now|can you|could you|would you|will you|i want you to|i need"
    r"|i would like(?: you to)?|i'd like(?: you to)?),? )*"
)
_SUMMARY_WORD = r"(?:summary|overview|outline|synopsis|gist|recap|abstract|tl;?dr)"
_SUMMARY_NOUN = (
    r"(?:(?:give|write|show|provide|make|get|create|have)(?: me| us)? )?(?:what(?:'s| is) )?"
    r"(?:an? |the )?(?:(?:brief|short|quick|concise|high-level|general|rough|full) )*"
    rf"{_SUMMARY_WORD}"
)
_SUMMARY = re.compile(
    rf"^{_POLITE}(?:(?:briefly |shortly )?(?:summari[sz]e|sum up|recap)|{_SUMMARY_NOUN}"
    rf" (?:of|on|about|for))(?: (?P<target>.+?))?{_END}",
    re.IGNORECASE,
)
_BARE_SUMMARY = re.compile(
    rf"^{_POLITE}(?:{_SUMMARY_NOUN}|table of contents"
    r"|(?:list|show|what are|what is)(?: me)? (?:all )?(?:of )?(?:the )?"
    r"(?:chapters|headings|documents|files|contents|table of contents)"
    r"|what (?:documents|files|chapters) (?:are|do you have|do i have)(?: there| here)?"
    r"|what (?:can|could|will) i (?:find|read|learn)(?: in)? here"
    rf"|what (?:kind|sort|type)s? of {_TEXT} (?:is|are) (?:this|these|it|they)"
    rf"|(?:what is |what's )?the big picture|in a nutshell|what is this){_END}",
    re.IGNORECASE,
)
_DEGREE = r"(?:(?:all|mainly|mostly|primarily|really|generally|basically|actually) )*"
_ABOUT = re.compile(
    rf"^(?:so,? )?(?:(?:tell me|explain|describe) what (?P<topic>.+?) (?:is|are)"
    rf"|what(?:'s|'re| is| are| was| were) (?P<target>.+?)) {_DEGREE}about{_END}",
    re.IGNORECASE,
)
_COVERS = re.compile(
    r"^(?:what|which)(?: (?:main|key|major|kinds? of|sorts? of))*"
    r"(?: (?:topics?|themes?|subjects?|things?|information|areas?|questions))?"
    rf" (?:does|do|did) (?P<target>.+?) {_DEGREE}(?:cover|contain|describe|deal with|talk about"
    rf"|discuss|teach|include|say|tell(?: us| me)?|explain|address|consist of"
    rf"|go (?:through|over)){_END}",
    re.IGNORECASE,
)
_COVERED = re.compile(
    r"^(?:what|which)(?: (?:main|key|major|different|all))*"
    r" (?:topics?|themes?|subjects?|areas|chapters|contents?|information) (?:are|is)"
    r"(?: (?:covered|discussed|contained|treated|addressed|described|included|there|available"
    rf"|found))?(?: (?:here|(?:in|by|across|throughout) (?P<target>.+?)))?{_END}",
    re.IGNORECASE,
)
_THEMES = re.compile(
    r"^(?:(?:what|which) (?:are|is)|list|name|give me|show me|identify)(?: (?:the|all|some))*"
    r"(?: (?:main|key|major|central|most important|principal|core|overarching|recurring|common))+"
    r" (?:topics?|themes?|points?|ideas?|takeaways?|subjects?|messages?|contents?|threads)"
    r"(?:(?: (?:discussed|covered|found|presented))?"
    rf" (?:of|in|from|across|throughout|by) (?P<target>.+?))?{_END}",
    re.IGNORECASE,
)
_RECUR = re.compile(
    r"^(?:what|which)(?: (?:main|key|major|recurring|common|other))*"
    r" (?:topics|themes|subjects|ideas|threads|trends|patterns)"
    r" (?:recur|emerge|appear|run|come up|come back|stand out|prevail|dominate)"
    r"(?: (?:again and again|most often|repeatedly|most))?"
    rf"(?: (?:in|across|throughout|through) (?P<target>.+?))?{_END}",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"^what(?:'s| is) (?:in|inside|the (?:content|subject|topic|purpose|structure) of)"
    rf" (?P<target>.+?){_END}"
    rf"|^how (?:is|are) (?P<structured>.+?) (?:structured|organi[sz]ed){_END}",
    re.IGNORECASE,
)
_TELL_OF = re.compile(
    rf"^{_POLITE}(?:tell me (?:more )?about|describe|introduce|explain) (?P<target>.+?){_END}",
    re.IGNORECASE,
)
_TELL_ALL = re.compile(
    rf"^{_POLITE}"
    r"(?:tell me|what (?:do|can) you (?:know|tell me|say)|give me|show me|i want to know)"
    r"(?: (?:more|much|everything|something|anything|all|some|a bit|a little|the|any|information"
    r"|info|details|facts|events|news|stories|background))*"
    r" (?:about|on|regarding|concerning)"
    rf" (?P<subject>(?!(?:how|why|when|what|whether|if)\b).+?){_END}",
    re.IGNORECASE,
)
_SAYS = re.compile(
    rf"^{_POLITE}(?:what|everything|all)(?: (?:that|which))?(?: (?:else|all|exactly))?"
    r" (?:(?:do|does|did) )?(?P<where>.+?) (?:have to |has to |all )*"
    r"(?:say|says|tell us|tell me|tell|mention|write|report|state|teach|recommend|advise|contain"
    r"|note) (?:about|on|regarding|concerning|of|as to|for) (?P<subject>.+?)" + _END,
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"^{_POLITE}(?:what(?:'s| is| was) (?:being )?(?:said|written|reported|mentioned|there|stated)"
    r"|what information (?:is there|do (?:we|i|you) have)|what do (?:we|i) have"
    r"|(?:find|collect|gather|list|show me)(?: me)? (?:everything|all(?: passages| information)?)"
    r"|everything) (?:about|on|regarding|concerning) (?P<subject>.+?)"
    r"(?: (?:in|across|throughout)"
    rf" (?P<where>(?:all |any )*(?:the|this|these|those|my|our)\b.*?))?{_END}",
    re.IGNORECASE,
)
_NOUN = (
    r"(?:people|persons?|individuals|characters?|figures|companies|compan(?:y|ies)|organi[sz]ations?"
    r"|institutions?|firms|places?|locations?|cities|countries|regions|names|terms|entities|entity"
    r"|dates|works|things|technologies)"
)
_NAMED = r"(?:mentioned|named|cited|discussed|referred to|talked about|referenced)"
_OFTEN = r"(?:the )?most(?: (?:often|frequently|commonly))?"
_MOST = (
    rf"most(?: |-)(?:(?:often|frequently|commonly)[ -])?(?:{_NAMED}|frequent|common|important"
    r"|prominent|central|influential)"
)
_WHERE = r"(?: (?:in|across|throughout) (?P<where>.+?))?"
_MANY = rf"^(?:which|what)(?: (?P<limit>\d+))? (?P<noun>{_NOUN})"
_SHOW = r"^(?:(?:what|who|which) (?:is|are|were)|list|name|show me|give me) (?:me )?"
_TOP = rf"(?:the )?(?:top )?(?P<limit>\d+)?\s?(?P<most>{_MOST}|main|key|central|top)"
_ALL = r"(?:all )?(?:the )?(?:top (?P<limit>\d+) )?"
_RANKINGS = tuple(
    re.compile(form + _WHERE + _END, re.IGNORECASE)
    for form in (
        rf"{_MANY} (?:is|are|was|were|gets?) {_NAMED} {_OFTEN}",
        rf"{_MANY} (?:appears?|occurs?|comes? up) {_OFTEN}",
        rf"^(?P<noun>who) (?:is|are|was|gets?) {_NAMED} {_OFTEN}",
        rf"^(?P<noun>who) (?:appears?|comes? up) {_OFTEN}",
        rf"{_SHOW}{_TOP} (?P<noun>{_NOUN})",
        rf"{_SHOW}{_ALL}(?P<noun>{_NOUN}) (?:that are |who are )?{_NAMED}(?: {_OFTEN})?",
        rf"^how many (?P<noun>{_NOUN}) (?:are|were|is) {_NAMED}",
    )
)
_UNIT = r"(?:documents|files|articles|reports|pages|chapters|sections|passages|papers|notes|texts)"
_MENTION = r"(?:mention|mentions|contain|name|cite|refer to|reference|talk about|discuss)"
_HOW_OFTEN = r"^how (?:often|many times|frequently)"
_PLACE = r"(?: (?:in|across) .+?)?"
_APPEAR = r"(?:appear|occur|come up)"
_TEXT_PLACE = (
    rf" (?:in|across|throughout) (?:(?:all|any|each|of|the|this|these|those|my|our|your) )*{_TEXT}"
)
_QUOTED_OR_PROPER = r"(?-i:[“\"'‘]?[A-Z][^?]*?|[“\"'‘《][^?]+?)"
_MENTIONS = tuple(
    re.compile(form + _END, re.IGNORECASE)
    for form in (
        rf"^(?:how many|which|what) (?:of (?:the|my|these) )?{_UNIT} {_MENTION} (?P<subject>.+?)",
        rf"^in (?:how many|which|what) {_UNIT} (?:is|are|was) (?P<subject>.+?) {_NAMED}",
        rf"^in (?:how many|which|what) {_UNIT} (?:does|do|did) (?P<subject>.+?) {_APPEAR}",
        rf"{_HOW_OFTEN} (?:is|are|was|were) (?P<subject>.+?) {_NAMED}{_PLACE}",
        rf"{_HOW_OFTEN} (?:does|do|did) (?P<subject>.+?) {_APPEAR}{_TEXT_PLACE}",
        (
            rf"{_HOW_OFTEN} (?:does|do|did) (?P<subject>{_QUOTED_OR_PROPER})"
            rf" (?:appear|come up){_PLACE}"
        ),
        rf"{_HOW_OFTEN} (?:does|do|did) (?P<subject>.+?) get {_NAMED}{_PLACE}",
    )
)

_PART = "(?P<noun>chapters|sections|headings|clauses|documents|files|articles|papers|texts)"
_NOUNS = f"(?:{_PART}|(?P<other>(?-i:[a-z][a-z-]+)(?: (?-i:[a-z-]+)){{0,2}}?))"
_OF = r"(?: (?:of|in|from) (?P<where>.+?))?"
_LIST = rf"{_POLITE}(?:list|name|show me|show|give me|enumerate) (?:me )?all"
_LISTINGS = tuple(
    re.compile(form + _END, re.IGNORECASE)
    for form in (
        rf"^(?:{_LIST}|(?:what|which) (?:are|is) all) (?:of )?(?:the )?{_NOUNS}{_OF}",
        rf"^how many {_NOUNS} are (?:there|here){_OF}",
        rf"^(?:what|which|how many) {_PART} (?:does|do) (?P<where>.+?) (?:have|contain)",
        rf"^how many {_PART} (?:do (?:i|we|you) have|are indexed)",
    )
)


def _read_listing(text: str, forms: tuple[re.Pattern[str], ...]) -> QuestionScope | None:
    for form in forms:
        if found := form.match(text):
            parts = found.groupdict()
            where = (parts.get("where") or "").strip()
            is_all = _means_all(where) or bool(_WHOLE_ZH.fullmatch(where))
            noun = (parts["noun"] or parts.get("other") or "").casefold()
            return QuestionScope(ScopeKind.LISTING, noun, "" if is_all else where, is_sure=False)
    return None


_NO_TEXT = frozenset(["to", "you", "i", "we", "can", "could", "do", "would", "should"])
_DETERMINER = re.compile(
    r"^(?:(?:all|each|both|any|every|of|the|this|these|those|that|my|our|your|whole|entire|full"
    r"|complete|given|uploaded|indexed|above|following|here|it|they)\b\s*)+",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"(?:all |everything |of )*(?:this|these|that|it|they|everything|all)(?: here)?$", re.IGNORECASE
)
_LAST_TEXT = re.compile(rf"^(?P<rest>.*?)\b{_TEXT}$", re.IGNORECASE)


def read_english(text: str) -> QuestionScope | None:
    """Return the scope of an English question; None for any other question."""
    if counted := read_count(text, _RANKINGS, _MENTIONS):
        return counted
    if listing := _read_listing(text, _LISTINGS):
        return listing
    return _read_summary(text) or _read_topic(text) or _read_subject(text)


def _read_summary(text: str) -> QuestionScope | None:
    """Return the scope of "summarise …" and "an overview of …"."""
    if _BARE_SUMMARY.match(text):
        return QuestionScope(ScopeKind.WHOLE)
    found = _SUMMARY.match(text)
    if found is None:
        return None
    target = found["target"] or ""
    # "Summarize what the documents say about storms" is about storms.
    return _read_topic(target) or _of_target(target, otherwise=ScopeKind.TOPIC)


def _read_topic(text: str) -> QuestionScope | None:
    """Return the scope of "what do the documents say about …"."""
    if found := _SAID.match(text):
        return QuestionScope(ScopeKind.TOPIC, found["subject"], _restriction(found["where"] or ""))
    found = _SAYS.match(text)
    return _said_somewhere(found) if found else None


def _read_subject(text: str) -> QuestionScope | None:
    """Return the scope of "what is … about" and similar questions."""
    for form in (_ABOUT, _COVERS, _COVERED, _THEMES, _RECUR, _INSIDE):
        if found := form.match(text):
            target = next((part for part in found.groups() if part), "")
            return _of_target(target, otherwise=ScopeKind.PART)
    found = _TELL_OF.match(text)
    if found and (_POINTING.match(found["target"]) or _LAST_TEXT.match(found["target"])):
        return _of_target(found["target"], otherwise=ScopeKind.PART)
    # "Tell me about Ada" is about her, even if a document has her name as its title.
    found = _TELL_ALL.match(text)
    return QuestionScope(ScopeKind.THING, found["subject"]) if found else None


def _restriction(where: str) -> str:
    """Return a phrase that may name a document; "" for phrases such as "these files"."""
    return "" if _means_all(where) else where


def _of_target(target: str, *, otherwise: ScopeKind) -> QuestionScope | None:
    """Return the scope of a phrase: all documents, or else of the kind ``otherwise``.

    None if the phrase is too long to be a name.
    """
    if _means_all(target):
        return QuestionScope(ScopeKind.WHOLE)
    if otherwise is ScopeKind.TOPIC:
        return QuestionScope(ScopeKind.TOPIC, target, target)
    if len(target.split()) > _MOST_NAME_WORDS:
        return None
    return QuestionScope(ScopeKind.PART, target, target, is_sure=False)


def _means_all(phrase: str) -> bool:
    if not phrase or _POINTING.match(phrase):
        return True
    last = _LAST_TEXT.match(phrase)
    return last is not None and not _DETERMINER.sub("", last["rest"]).strip()


def _said_somewhere(found: re.Match[str]) -> QuestionScope | None:
    where = found["where"]
    if _means_all(where):
        return QuestionScope(ScopeKind.TOPIC, found["subject"])
    if len(where.split()) > _MOST_NAME_WORDS or where.split()[0].casefold() in _NO_TEXT:
        return None
    # "the maintenance chapter" means a part of the corpus; for "BBC article" one must exist.
    is_small = where == where.lower()
    ours = is_small and bool(_LAST_TEXT.match(where) and _DETERMINER.match(where))
    return QuestionScope(ScopeKind.TOPIC, found["subject"], where, is_sure=ours)


def strip_english(phrase: str) -> str:
    """Return a phrase without words for texts: "travel" for "the travel chapter"."""
    bare = _DETERMINER.sub("", phrase)
    last = _LAST_TEXT.match(bare)
    return (last["rest"] if last else bare).strip()


_TEXT_ZH = (
    "(?:文档|文檔|文件|资料|資料|文章|材料|知识库|知識庫|语料|語料|报告|報告|笔记|筆記|手册|手冊|书|書"
    "|教程|指南|小说|小說|故事|论文|論文|说明书|說明書|文本|规定|規定|制度|合同|年报|年報)"
)
_WHICH_ZH = (
    "(?:这|這|那|本|整|所有|全部|我的?|上述|以上)?(?:几|幾)?"
    "(?:些|个|個|本|份|篇|部|套|批|部分)?(?:的)?"
)
_WHOLE_ZH = re.compile(
    f"(?:{_WHICH_ZH}{_TEXT_ZH}(?:们|全文|内容|內容)?|这里|這裡|这|這|里面|裡面|全部|所有内容|整体|整體|全文)"
    "(?:里面|裡面|当中|當中|里|裡|中|上|内)?"
)
_POLITE_ZH = (
    "(?:请|請|帮我|幫我|帮忙|麻烦|麻煩|给我|給我|你|能否|能不能|可以|用中文|大致"
    "|简要地?|簡要地?|简单地?|簡單地?)*"
)
_CONTENT_ZH = (
    "(?:(?:的)?(?:主要|核心|大致|全部)?"
    "(?:内容|內容|要点|要點|大意|情节|情節|梗概|观点|觀點|主题|主題))"
)
_END_ZH = r"[\s？?。！!呢吗啊]*$"
_SUMMARY_ZH = re.compile(
    f"^{_POLITE_ZH}(?P<verb>总结|總結|概括|概述|综述|綜述|归纳|歸納|梳理|简介|介绍|介紹|说说|說說|讲讲|講講|谈谈|談談)"
    f"(?P<once>一下|下|一遍)?(?P<target>.*?){_CONTENT_ZH}?{_END_ZH}"
)
ASKS_FOR_FACT_ZH = re.compile(
    "谁|誰|何时|何時|什么时候|什麼時候|哪里|哪裡|哪儿|哪兒|在哪|哪年|哪天|哪一年|哪一天|多少|多久|几[次天年月]|幾[次天年月]"
)
"""Matches questions for a person, a time, a place or a number."""
_SUMMARY_VERBS_ZH = frozenset(
    {"总结", "總結", "概括", "概述", "综述", "綜述", "归纳", "歸納", "梳理"}
)
_ABOUT_ZH = re.compile(
    "^(?P<target>.*?)(?:主要|大致|大概|到底|都|总共|總共|究竟|整体上?|整體上?)*"
    "(?:讲述|講述|讲|講|说|說|写|寫|谈|談|介绍|介紹|讨论|討論|涉及|包含|包括|关于|關於|描述|叙述|敘述|涵盖|涵蓋|是关于|是關於)"
    "(?:的是|了|的|到)?(?:些)?(?:什么|什麼|啥|哪些|怎样的|怎樣的|哪几)(?:方面|内容|內容|主题|主題|故事|东西|東西|话题|話題|问题|問題)*的?"
    + _END_ZH
)
_THEME_ZH = re.compile(
    "^(?P<target>.*?)(?:的)?(?:主要内容|主要內容|大意|中心思想|主题|主題|梗概|目录|目錄|核心内容|核心內容|主要主题|主要主題|结构|結構"
    "|(?:核心|主要)(?:观点|觀點|思想|论点|論點))"
    f"(?:是什么|是什麼|是啥|有哪些|有什么|有什麼|是怎样的|是怎樣的)?{_END_ZH}"
)
_LIST_ZH = re.compile(
    "^(?:知识库|知識庫|这里|這裡|库)?(?:里面|裡面|里|裡|中)?(?:都|一共)?有(?:哪些|什么|什麼)"
    f"(?:文档|文檔|文件|资料|資料|内容|內容|主题|主題|章节|章節){_END_ZH}"
)
_SAYS_ZH = (
    re.compile(
        f"^{_POLITE_ZH}(?P<where>[^，,]*?{_TEXT_ZH})(?:里面|裡面|当中|當中|里|裡|中|上)?(?:对于|對於|关于|關於|有关|有關|对|對|就)"
        "(?P<subject>.+?)(?:方面)?(?:是|都|有)*(?:怎么|怎麼|如何|怎样|怎樣|什么|什麼|哪些|些什么|些什麼)?"
        "(?:说|說|讲|講|写|寫|规定|規定|介绍|介紹|描述|提到|提及|要求|看待|看|建议|建議)(?:的|了|过|過)?"
        f"(?:什么|什麼|哪些|些什么|些什麼)?(?:内容|內容|规定|規定|要求|建议|建議)?{_END_ZH}"
    ),
    re.compile(
        f"^{_POLITE_ZH}(?P<where>[^，,]*?{_TEXT_ZH})(?:里面|裡面|里|裡|中)?(?:是)?(?:怎么|怎麼|如何|怎样|怎樣)"
        f"(?:说|說|讲|講|介绍|介紹|描述|规定|規定|看待)(?P<subject>.+?)(?:的)?{_END_ZH}"
    ),
    re.compile(
        f"^{_POLITE_ZH}(?:关于|關於|有关|有關)(?P<subject>.+?)[，, ]*"
        f"(?P<where>[^，,]*?{_TEXT_ZH})(?:里|裡|中)?(?:都)?"
        f"(?:说|說|讲|講|写|寫|提到|提及|介绍|介紹|有)(?:了|过|過)?(?:什么|什麼|哪些)(?:内容|內容)?{_END_ZH}"
    ),
    re.compile(
        f"^{_POLITE_ZH}(?P<where>[^，,]*?{_TEXT_ZH})(?:里面|裡面|里|裡|中)?有(?:哪些|什么|什麼)(?:关于|關於|有关|有關)"
        f"(?P<subject>.+?)的?(?:内容|內容|信息|说明|說明|规定|規定)?{_END_ZH}"
    ),
)
_NOUN_ZH = (
    "(?:人物|人名|人士|人|角色|公司|企业|企業|组织|組織|机构|機構|单位|單位|地方|地点|地點|地名|城市|国家|國家"
    "|术语|術語|名词|名詞|名称|名稱|名字|概念|技术|技術|实体|實體)"
)
_SEEN_ZH = "(?:提到|提及|出现|出現|讨论|討論|引用|谈到|談到)"
_RANKINGS_ZH = tuple(
    re.compile(form)
    for form in (
        f"(?:被)?{_SEEN_ZH}(?:的)?(?:次数|次數)?(?:得)?最(?:多|频繁|頻繁)的(?P<limit>\\d+)?(?:个|個|家|位)?(?P<noun>{_NOUN_ZH})",
        f"最(?:常|经常|經常)(?:被)?{_SEEN_ZH}的(?P<noun>{_NOUN_ZH})",
        f"(?:哪个|哪個|哪些|哪几个|哪幾個|哪家|哪位|哪|什么|什麼)(?P<noun>{_NOUN_ZH})(?:被)?{_SEEN_ZH}(?:的)?(?:次数|次數)?(?:得)?最(?:多|频繁|頻繁)",
        f"^(?P<noun>谁|誰)(?:被)?{_SEEN_ZH}(?:的)?(?:次数|次數)?(?:得)?最(?:多|频繁|頻繁)",
        f"^(?:文档|文檔|资料|資料|书|書|文)?(?:里|裡|中)?(?P<most>主要|最重要)的?(?P<noun>人物|角色|公司|机构|機構|组织|組織|地点|地點)(?:有哪些|是谁|是誰|有谁|有誰|是哪些){_END_ZH}",
        f"(?:一共|总共|總共)?{_SEEN_ZH}(?:了|过|過)?(?:多少|几|幾)(?:个|個|家|位)(?P<noun>{_NOUN_ZH}){_END_ZH}",
    )
)
_UNIT_ZH = "(?:文档|文檔|文件|文章|资料|資料|段落|章节|章節|报告|報告)"
_MENTIONS_ZH = tuple(
    re.compile(form + _END_ZH)
    for form in (
        f"^(?:一共|总共|總共)?(?:有)?(?:多少|几|幾|哪些|哪几|哪幾)(?:个|個|篇|份)?{_UNIT_ZH}(?:里|裡|中)?{_SEEN_ZH}(?:了|过|過)?(?P<subject>.+?)",
        f"^(?P<subject>.+?)(?:在(?:{_WHICH_ZH}{_TEXT_ZH})(?:里|裡|中)?)?(?:一共|总共|總共|被)*{_SEEN_ZH}(?:了|过|過)?(?:多少|几|幾)次",
        f"^(?P<subject>.+?)在(?:多少|几|幾|哪些|哪几|哪幾)(?:个|個|篇|份)?{_UNIT_ZH}(?:里|裡|中)?(?:被)?{_SEEN_ZH}(?:了|过|過)?",
    )
)
_PART_ZH = "(?P<noun>章节|章節|章|节|節|条|條|部分|小节|标题|文档|文檔|文件|文章|资料|資料|论文)"
_NOUNS_ZH = f"(?:{_PART_ZH}|(?P<other>[^，,的里中有个個]{{2,12}}?))"
_MEASURE_ZH = "(?:多少|几|幾)(?:个|個|篇|份|种|種|类|類|项|條)?"
_LIST_ALL_ZH = f"{_POLITE_ZH}(?:列出|列举|列舉|罗列)(?:一下)?"
_ALTOGETHER_ZH = "(?:一共|总共|總共|共)?"
_LISTINGS_ZH = tuple(
    re.compile(form + _END_ZH)
    for form in (
        f"^{_LIST_ALL_ZH}(?:所有|全部)的?{_NOUNS_ZH}",
        f"^{_LIST_ALL_ZH}(?P<where>[^的]+?)(?:里|裡|中|里面)?的?(?:所有|全部)的?{_NOUNS_ZH}",
        f"^{_ALTOGETHER_ZH}有{_MEASURE_ZH}{_NOUNS_ZH}",
        f"^(?P<where>.+?)(?:里|裡|中|里面)?{_ALTOGETHER_ZH}(?:有|分为|分成){_MEASURE_ZH}{_PART_ZH}",
        f"^(?P<where>.+?)(?:里|裡|中|里面)?都?有(?:哪些|哪几|什么)(?:个|個)?{_PART_ZH}",
    )
)
_QUOTED_ZH = re.compile("[《“「『]")


def read_chinese(text: str) -> QuestionScope | None:
    """Return the scope of a Chinese question; None for any other question."""
    if counted := read_count(text, _RANKINGS_ZH, _MENTIONS_ZH):
        return counted
    if listing := _read_listing(text, _LISTINGS_ZH):
        return listing
    if _LIST_ZH.match(text):
        return QuestionScope(ScopeKind.WHOLE)
    for form in _SAYS_ZH:
        if found := form.match(text):
            where = "" if _WHOLE_ZH.fullmatch(found["where"]) else found["where"]
            return QuestionScope(ScopeKind.TOPIC, found["subject"], where)
    found = _SUMMARY_ZH.match(text)
    # "归纳法是谁提出的" begins with a word for summaries, and asks for a person.
    if found and (found["once"] or not ASKS_FOR_FACT_ZH.search(found["target"])):
        return _of_request(found["verb"], found["target"])
    found = _ABOUT_ZH.match(text) or _THEME_ZH.match(text)
    return _of_target_zh(found["target"]) if found else None


def _of_request(verb: str, target: str) -> QuestionScope | None:
    """Return the scope of "summarise …" or "introduce …": a text, a topic or an entity."""
    scope = _of_target_zh(target)
    if scope.is_sure:
        return scope
    if verb in _SUMMARY_VERBS_ZH:
        return QuestionScope(ScopeKind.TOPIC, scope.subject, scope.named)
    is_text = _QUOTED_ZH.match(target) or re.search(_TEXT_ZH, target)
    return scope if is_text else QuestionScope(ScopeKind.THING, scope.subject)


def _of_target_zh(target: str) -> QuestionScope:
    bare = target.removesuffix("的")
    if not bare or _WHOLE_ZH.fullmatch(bare):
        return QuestionScope(ScopeKind.WHOLE)
    name = bare_name(bare)
    return QuestionScope(ScopeKind.PART, name, name, is_sure=False)


def strip_chinese(phrase: str) -> str:
    """Return a phrase without words for texts: "差旅" for "差旅手册"."""
    return re.sub(f"{_WHICH_ZH}{_TEXT_ZH}$", "", phrase).strip()
