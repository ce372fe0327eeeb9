"""Classify a question by its words alone: its scope, its parts and the answer mode.

Patterns of scopes match the whole question, so that a question for a fact is rarely taken for one
about the whole corpus. A question is divided if every part asks by itself. A wrong "global" mode
costs more than a missed one, since an overview has no detail. The patterns of a language are
compiled on first use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from knotwork._synthesis.ask_request import AskMode
from knotwork._synthesis.questions.scopes import DividedQuestion, ScopeKind, SubQuestion
from knotwork._text.chinese import HAN

if TYPE_CHECKING:
    from knotwork._synthesis.questions.scopes import QuestionScope


_LONGEST_SCOPED = 240
_HAN_TEXT = re.compile(f"[{HAN}]")


def read_scope(question: str) -> QuestionScope | None:
    """Return what a question asks to be summarised or counted; None for any other question."""
    text = " ".join(question.split())
    if not text or len(text) > _LONGEST_SCOPED:
        return None
    # Compiling the patterns of a language is slow, so only those that may match are imported.
    if _HAN_TEXT.search(text):  # the title in "总结一下《Almanac》" may be longer than the rest
        from knotwork._synthesis.questions.scopes import read_chinese

        if scope := read_chinese(text):
            return scope
    from knotwork._synthesis.questions.scopes import read_english

    return read_english(text)


def needs_communities(question: str) -> bool:
    """Return True if the answer to a question is composed from communities."""
    scope = read_scope(question)
    return scope is not None and scope.needs_communities


def strip_text_nouns(phrase: str) -> str:
    """Return a phrase without words for texts: "travel" for "the travel chapter"."""
    if _is_chinese(phrase):
        from knotwork._synthesis.questions.scopes import strip_chinese

        return strip_chinese(phrase)
    from knotwork._synthesis.questions.scopes import strip_english

    return strip_english(phrase)


def _is_chinese(text: str) -> bool:
    return len(_HAN_TEXT.findall(text)) * 3 >= len(text) > 0


MOST_PARTS = 4
"""A text with more questions is not divided: it is a list of tasks."""
_LONGEST_DIVIDED = 400
"""The maximum number of characters of a question that is divided."""
_MAY_ASK_MORE = re.compile(
    r"\b(?:and|but|vs|versus|compare|differ\w*|distinction)\b|;|[?!.]\s+\S"
    r"|,\s+(?:\w+\s+)?(?:wh(?:o|at|ich|en|ere|y)|how)",
    re.IGNORECASE,
)
"""Matches every English question that can be divided."""


def divide_question(question: str) -> DividedQuestion | None:
    """Return the parts of a question, or None if it asks for one thing, or for more than four."""
    text = " ".join(question.split())
    if len(text) > _LONGEST_DIVIDED:
        return None
    # Compiling the patterns of a language is slow, so only those that may match are imported.
    if len(_HAN_TEXT.findall(text)) * 4 >= len(text) > 0:
        from knotwork._synthesis.questions.parts_chinese import compare_chinese, divide_chinese

        return compare_chinese(text) or _make_division(divide_chinese(text))
    if not _MAY_ASK_MORE.search(text):
        return None
    from knotwork._synthesis.questions.parts_english import compare_english, divide_english

    return compare_english(text) or _make_division(divide_english(text))


def _make_division(parts: Sequence[SubQuestion]) -> DividedQuestion | None:
    return DividedQuestion(tuple(parts)) if 1 < len(parts) <= MOST_PARTS else None


_OVERVIEW = re.compile(
    r"\b(?:summari[sz]e|sum up|(?:overview|summary) of|(?:overview|summary)[.?!\s]*$"
    r"|big picture|main takeaways?|key takeaways?|in a nutshell"
    r"|(?:main|key|major|central|common|recurring|overarching|principal|dominant|prevailing|core)"
    r" (?:\w+ )?(?:themes|topics|ideas|points|issues|trends|findings|arguments|challenges|concerns"
    r"|lessons|messages|conclusions|patterns|threads|subjects|concepts|questions)"
    r"|(?:what|which) (?:themes|topics|threads|trends|patterns|ideas) (?:run|recur|emerge|stand out"
    r"|come up|come back))\b",
    re.IGNORECASE,
)
_OF_THE_DOCUMENTS = re.compile(
    r"\b(?:what (?:is|are|do|does) (?:this|these|those|the|my|our|all)(?: \w+)?"
    r" (?:documents?|files?|texts?|corpus|collections?|materials?|data ?sets?|knowledge base"
    r"|papers|articles|notes|sources|transcripts|reports) (?:mainly |mostly |all )?"
    r"(?:about|cover|say|contain|discuss|deal|talk|describe)"
    r"|(?:what|how) (?:do|are) (?:all )?(?:of )?(?:these|those|the|my|our|all)(?: \w+)?"
    r" (?:documents|files|texts|papers|articles|notes|sources|transcripts|reports|interviews)"
    r" (?:have in common|differ|agree|disagree|relate|related|share)"
    r"|(?:across|throughout) the (?:documents|files|texts|corpus|collection|papers|articles|notes"
    r"|sources|transcripts|reports)"
    r"|(?:across|throughout|in|over) (?:all|the whole|the entire|these|my|our)(?: of)?(?: the)?"
    r" (?:documents?|files?|texts?|corpus|collection|material|data ?set|knowledge base|papers"
    r"|articles|notes|sources|transcripts|reports))\b",
    re.IGNORECASE,
)
_SPEAKS = (
    r"(?:discuss(?:es|ed|ing)?|mention(?:s|ed|ing)?|talk(?:s|ed|ing)?|speak(?:s|ing)?|spoken|cited?"
    r"|broach(?:ed)?|emphasi[sz]ed?|highlight(?:s|ed)?|refer(?:red)? to|referenced|described?"
    r"|identified|expressed?|debated?|argued?|commented|suggested|presented as|perceived?"
    r"|addressed)"
)
"""Verbs of saying. "How often" asks about the whole corpus only with one of them."""
_SPEAKERS = (
    r"(?:guests?|leaders|authors|writers|speakers|participants|interviewees|respondents|experts"
    r"|critics|reviewers|commentators|hosts?|episodes|discussions?|conversations?|dialogues?"
    r"|interviews|talks|documents|articles|reports|transcripts|papers|texts|sources|essays|stories"
    r"|podcasts?|anecdotes|perspectives|views|opinions|insights|predictions|themes|topics|trends|debates)"
)
"""Nouns for those who say something, and for what they say."""
_PREVALENCE = re.compile(
    rf"\b(?:how (?:often|frequently|commonly) (?:do|does|did|are|is|was|were)\b.*\b{_SPEAKS}\b"
    r"|how (?:often|frequently|commonly)\b.*\b(?:issue|topic|question|concern|problem|point"
    r"|subject)s? .*\b(?:raised|come up|comes up)\b"
    r"|(?:mentioned|discussed|cited|raised|named) (?:the )?(?:most|often|frequently)\b"
    r"|most (?:frequently|commonly|often|prominent|common|frequent) (?:\w+ )?(?:mention|discuss|cit"
    r"|raised|themes|topics)"
    r"|(?:are|is) there (?:\w+ ){0,3}(?:patterns?|trends?|themes?|recurring|common|shared"
    r"|discussions?|conversations?|stories|anecdotes|opinions|phrases|episodes|mentions)"
    rf"|(?:are|is) there (?:\w+ ){{0,3}}(?:differences?|similarit\w+|views|examples|areas|cases"
    rf"|technologies)\b.*\b(?:{_SPEAKS}|{_SPEAKERS})\b"
    r"|do (?:any|some|most|certain|the|many|all)? ?(?:\w+ )?[a-z]+s (?:\w+ )?(?:discuss|mention"
    r"|talk|speak|describe)\b"
    rf"|do (?:any|some|most|certain|the|many|all)? ?(?:\w+ )?{_SPEAKERS} (?:\w+ )?(?:share|address"
    r"|appear|use|feature|focus|lead|follow|agree|contain)\b"
    r"|do (?:certain|some) (?:types|kinds) of questions lead\b"
    r"|(?:which|what) (?:[a-z]+ )?[a-z]+s (?:discuss|talk|speak|mention|emphasi[sz]e|highlight)\b"
    rf"|(?:which|what) (?:[a-z]+ )?{_SPEAKERS} (?:share|deal|feature|address|focus|contain)\b)",
    re.IGNORECASE,
)
_IS_SAID = re.compile(rf"\b(?:{_SPEAKS}|{_SPEAKERS})\b", re.IGNORECASE)
_OF_ONE_THING = re.compile(
    r"\b(?:points|issues|challenges|concerns|questions|concepts|patterns|lessons|findings|arguments"
    r"|conclusions|messages)"
    r" (?:with|of|for|on|at|in|to) (?:(?:the|an?|this|that|our|my|your|its) )?"
    rf"(?!\w*\s*(?:documents?|files?|texts?|corpus|collection|{_SPEAKERS})\b)\w+",
    re.IGNORECASE,
)
"""Matches "key issues with the left valve": its subject is an object, not the corpus."""
_MANY = (
    r"(?:discussions|conversations|episodes|guests|leaders|stories|anecdotes|perspectives|views"
    r"|opinions|topics|themes|trends|patterns|challenges|obstacles|barriers|strategies|insights"
    r"|predictions|approaches|examples|lessons|documents|articles|reports|transcripts|authors"
    r"|speakers|participants|interviews|techniques|concerns|experts|industries|technologies"
    r"|companies|sectors|projects|questions|respondents|customers|users)"
)
_SPECIFIC = re.compile(
    r"^(?:how (?:many|much|long)|when|where|who)\b|\b(?:the|these|those) (?:two|three|four|both)\b",
    re.IGNORECASE,
)
"""Matches questions for a number, a time, a place or a person, or about a given number of items."""
_IN_GENERAL = re.compile(
    r"^(?:what|which|how|do|are|can|is)\b.*\b"
    r"(?:discuss|mention(?:ed)?|talk|describe|describ(?:ed|ing)|perceive|shared?|emphasi[sz]e"
    r"|cited?|believe|address(?:ed)?|presented|predict(?:ed|ions)|highlight(?:ed)?|identified"
    r"|often|typically|generally|usually|consistently|frequently|commonly|differ|vary|approach"
    r"|used?|evolve|propose|envision|considered|influenced?|suggested|integrat|provide|give)\b",
    re.IGNORECASE,
)
_MANY_WORDS = re.compile(rf"\b{_MANY}\b", re.IGNORECASE)

_OVERVIEW_ZH = re.compile(
    r"总结|總結|概括(?!承受)|概述|综述|綜述|归纳(?!法)|歸納(?!法)|梳理|中心思想|主要内容(?!物)|主要內容(?!物)|内容概要|大意|纵览"
    r"|核心(?:观点|觀點|思想|内容|內容|主题|主題|议题|議題)|(?:主要|全部|所有)的?要(?:点|點)"
)
_REQUEST_ZH = re.compile(
    "^(?:请|請|帮我|幫我|麻烦|麻煩|给我|給我|你|能否|能不能|可以)*"
    "(?:总结|總結|概括|概述|归纳|歸納|梳理)(?:一下|下|出|所有|全部|这|這|各|主要|文档|文檔|资料|資料)"
)
_COMMON_ZH = re.compile(
    r"(?:主要|有)(?:有|包括|涉及|讨论|討論|谈|談|讲|講|包含)?(?:了)?(?:哪些|什么|什麼)(?:主题|主題|话题|話題|议题|議題|方面|内容|內容|趋势|趨勢)"
    r"|(?:主要|共同|常见|常見|反复出现的?|反覆出現的?|普遍)(?:的)?(?:主题|主題|话题|話題|议题|議題|趋势|趨勢|观点|觀點|问题|問題|挑战|挑戰)(?:是|有|包括)"
    r"|最(?:常|多|经常|經常|频繁|頻繁)(?:被)?(?:讨论|討論|提到|提及|谈到|談到|谈论|談論|关注|關注)的?(?:是)?(?:哪些|什么|什麼)?"
    r"(?:主题|主題|话题|話題|议题|議題|问题|問題|观点|觀點)"
)
_OF_ONE_THING_ZH = re.compile(
    "^(?P<thing>.{1,8}?)的(?:主要|共同|常见|常見|普遍)(?:的)?(?:问题|問題|挑战|挑戰)(?:是|有|包括)"
)
_SAID_ZH = re.compile(
    "文档|文檔|文件|资料|資料|文章|材料|报告|報告|访谈|訪談|知识库|知識庫|语料|語料|大家|作者|受访|受訪|讨论|討論|提到|反映|嘉宾|嘉賓"
)
_OF_THE_DOCUMENTS_ZH = re.compile(
    r"(?:这些|這些|这批|這批|所有|全部|整个|整個|本|全部的?|我的)(?:文档|文檔|文件|资料|資料|文章|材料|知识库|知識庫|语料|語料|报告|報告|笔记|筆記)"
    r"|(?:文档|文檔|资料|資料|材料|知识库|知識庫|语料|語料)(?:里|裡|中|们)?(?:主要|都|大致|总共|總共|整体|整體)?(?:讲|講|说|說|谈|談|讨论|討論|涉及|介绍|介紹|包含|关于|關於|有哪些)"
    r"|(?:总体|總體|整体|整體)(?:上|来看|來看|而言|来说|來說)"
)
_NAMED_ZH = re.compile(r"[《“「『〈][^》”」』〉]+[》”」』〉]|[0-9０-９]{2,}")

_ABOUT = re.compile(
    r"(?i:^(?:please )?(?:tell me (?:more |all |everything )?about|describe|introduce|profile"
    r"|what do (?:we|you) know about)\b"
    r"|\b(?:relationship|relations|connections?|links?|ties) (?:between|among)\b"
    r"|\bhow (?:is|are|was|were) .+ (?:related|connected|linked) to\b)"
    r"|^[Ww]ho (?:is|was|are|were) (?!.*['’]s?\b)[A-Z][\w'’.-]*(?: [\w'’.-]+){0,4}\?*$"
)
_ABOUT_ZH = re.compile(
    r"介绍一下|介紹一下|^(?:请|請)?(?:介绍|介紹|说说|說說|谈谈|談談)"
    r"|(?:之间|之間|和|与|與|跟).{0,12}(?:的)?(?:关系|關係|联系|聯繫)(?:是|如何|怎样|怎樣|吗|嗎|？|\?|$)"
    r"|^.{2,8}(?:是谁|是誰|是什么人|是什麼人)[？?]?$"
)
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_ACRONYM = re.compile(r"[A-Z]{2,}$")
_HAN = re.compile(r"[\u3400-\u9fff]")
_FEWEST_WORDS = 4
_MOST_WORDS = 25
"""In a question of more words, a name is taken for what it asks about."""
_MOST_BEFORE_ZH = 8
"""Characters before words such as "the main problems are"; with more, it asks about those."""
_ABOUT_ALL = frozenset({ScopeKind.WHOLE, ScopeKind.TOPIC, ScopeKind.RANKING})


def choose_mode(question: str) -> AskMode:
    """Choose mode global, local or basic by the words of a question."""
    scope = read_scope(question)
    if scope is not None and scope.is_sure and scope.kind in _ABOUT_ALL:
        return AskMode.GLOBAL
    text = " ".join(question.split())
    if len(_HAN.findall(text)) * 3 >= len(text):
        return _choose_zh(text)
    names_something = _names_something(text)
    is_long = len(_WORD.findall(text)) > _MOST_WORDS
    if _OF_THE_DOCUMENTS.search(text) and not (names_something and is_long):
        return AskMode.GLOBAL
    may_be_general = not names_something and not _SPECIFIC.search(text)
    if may_be_general and (_is_overview(text) or _is_general(text)):
        return AskMode.GLOBAL
    return AskMode.LOCAL if _ABOUT.search(text) else AskMode.BASIC


def _choose_zh(text: str) -> AskMode:
    if _OF_THE_DOCUMENTS_ZH.search(text) and not _asks_for_fact_zh(text):
        return AskMode.GLOBAL
    common = _COMMON_ZH.search(text)
    is_common = common is not None and common.start() <= _MOST_BEFORE_ZH
    thing = _OF_ONE_THING_ZH.search(text)
    if thing is not None and not _SAID_ZH.search(thing["thing"]):
        is_common = False
    is_overview = _OVERVIEW_ZH.search(text) and not _asks_for_fact_zh(text)
    if (is_overview or is_common) and not _NAMED_ZH.search(text):
        return AskMode.GLOBAL
    return AskMode.LOCAL if _ABOUT_ZH.search(text) else AskMode.BASIC


def _asks_for_fact_zh(text: str) -> bool:
    """Return True if a Chinese question asks for one fact, and for no summary."""
    from knotwork._synthesis.questions.scopes import ASKS_FOR_FACT_ZH

    return bool(ASKS_FOR_FACT_ZH.search(text)) and not _REQUEST_ZH.search(text)


def _is_overview(text: str) -> bool:
    """Return True if a question asks for a summary, or for the main points of what is said."""
    if not _OVERVIEW.search(text):
        return False
    return _OF_ONE_THING.search(text) is None or bool(_IS_SAID.search(text))


def _is_general(text: str) -> bool:
    """Return True if a question without names asks what many say, or how often they do."""
    if len(_WORD.findall(text)) < _FEWEST_WORDS:
        return False
    if _PREVALENCE.search(text):
        return True
    is_general = bool(_IN_GENERAL.search(text) and _MANY_WORDS.search(text))
    return is_general and bool(_IS_SAID.search(text))


def _names_something(text: str) -> bool:
    """Return True if a question has a name, a number or a quotation; acronyms do not count."""
    if re.search(r"\d|[“\"「][^”\"」]+[”\"」]", text):
        return True
    words = [match[0] for match in _WORD.finditer(text)][1:]
    return any(word[0].isupper() and word != "I" and not _ACRONYM.match(word) for word in words)
