"""Words of questions about tables: what they ask to be computed, and words that say nothing else.

A question is put to a table only if each of its words is accounted for: by a column, a value, a
comparison, or a word listed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from knotwork.records import Span
from knotwork.retrieval.queries.comparisons import read_comparisons
from knotwork.retrieval.queries.plans import Returned

_OPERATIONS = (
    (
        re.compile(
            r"\bhow many\b|\b(?:total |overall )?(?:number|count) of\b|\bcount\b"
            r"|(?:总共|一共|共)?(?:有(?:多少|几)|(?<!是)(?:多少|几))(?:个|条|名|人|位|行|笔|种|家|份|项|部|件)?"
            r"|数量|个数|条数",
            re.IGNORECASE,
        ),
        Returned.COUNT,
    ),
    (re.compile(r"\b(?:average|mean|avg)\b|平均(?:值|数)?", re.IGNORECASE), Returned.AVERAGE),
    (
        re.compile(
            r"\b(?:in )?total\b|\bsum(?: of)?\b|\boverall\b|\bcombined\b|\baltogether\b"
            r"|总(?:和|计|共|额|数)?|合计|一共|之和",
            re.IGNORECASE,
        ),
        Returned.SUM,
    ),
)
"""In the order in which they count: "the total number" is a number, not a total."""
_SUPERLATIVES = tuple(
    (re.compile(rf"\b(?:{words})\b|{chinese}", re.IGNORECASE), dimension, descending)
    for words, chinese, dimension, descending in (
        ("most expensive|priciest|costliest", "最贵", "price", True),
        ("cheapest|least expensive", "最便宜", "price", False),
        ("latest|newest|most recent|last", "最近|最新|最晚", "time", True),
        ("earliest|oldest|first", "最早", "time", False),
        (
            "highest|largest|biggest|greatest|maximum|max|most|top",
            "最[高大多长]",
            "size",
            True,
        ),
        ("lowest|smallest|least|minimum|min|fewest", "最[低小少短]", "size", False),
    )
)
DIMENSION_WORDS = {
    "price": ("price", "cost", "价格", "单价", "售价"),
    "time": ("date", "day", "time", "year", "日期", "时间", "年份"),
}
_LIMIT = re.compile(
    r"\b(?:top|first|last|highest|lowest|largest|smallest|latest) (\d{1,3})\b"
    r"|\b(\d{1,3}) (?=(?:most|highest|lowest|largest|smallest|latest|cheapest)\b)"
    r"|前\s*(\d{1,3})\s*(?:个|名|位|条)?",
    re.IGNORECASE,
)
_GROUPING = re.compile(
    r"(?:\b(?:per|by|(?:(?:for|in) )?(?:each|every))\s+(?:the\s+)?|每个?|各个?|按)$", re.IGNORECASE
)
_WHICH = re.compile(
    r"\b(?:(?:which|what)(?:\s+(?:is|was|are|were)\s+the)?|(?:show|find|list|name|give)(?:\s+me)?"
    r"(?:\s+the)?)(?:\s+[a-z]+)?\s+$",
    re.IGNORECASE,
)
_WHICH_ZH = re.compile(r"哪(?!里|儿)")
_STRUCTURE_WORDS = """
    what which who whom whose how much is are was were be been being do does did has have had
    a an the of in on at for from to with within by per and or as that those these this there it its
    their them they all any each every me us please tell show list give find get display name names
    identify return compute calculate count row rows record records entry entries item items value
    values table tables sheet spreadsheet file csv data dataset can could you i we my our s during
    year years month day only just made place placed having together
    euro euros dollar dollars usd eur yuan percent
"""
_STRUCTURE = frozenset(_STRUCTURE_WORDS.split())
_STRUCTURE_ZH = re.compile(
    r"请问|请|列出|给出|显示|查询|告诉我|哪(?:一)?(?:些|个|位|名|家|种|款|条|项|部|人|里)?|什么|多少|谁"
    r"|分别|所有|全部|一共|总共|其中|里面|之中|数据|表格?中?|记录|文件|的|在|是|有|为|了|和|与|及|或|中|里|内"
    r"|个|条|名|位|人|家|种|笔|份|项|元|年|月|日|呢|吗|么|来自|属于|于|从|到|至|之间|以?上|以?下|超过|按|每|各"
)
_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|should|will|would)\b|吗[?？]?$|是否",
    re.IGNORECASE,
)
_ONE = re.compile(r"^\W*(?:what|who|which)(?: \w+)? (?:is|was)\b|是(?:什么|多少|谁)", re.IGNORECASE)
_WHEN = re.compile(r"\bwhen\b|什么时候|何时|哪天", re.IGNORECASE)
_WHO = re.compile(r"\b(?:who|whom)\b|谁", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+(?:['’][a-z]+)?|[^\W_A-Za-z0-9]")
_HAN = re.compile(r"[\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Extreme:
    """The end of a scale that is asked for; ``dimension`` is "size" or in `DIMENSION_WORDS`."""

    dimension: str
    descending: bool
    span: Span


@dataclass(frozen=True, slots=True)
class TableWording:
    """What a question asks of a table, from its words alone; ``covered`` are those words.

    ``limit`` is how many of the first or last are wanted; ``asks_for_one`` is True for "what is".
    ``is_clear`` is False for questions to be answered with yes or no, or with two ends of scales.
    """

    operation: Returned | None
    extreme: Extreme | None
    limit: int
    asks_when: bool
    asks_who: bool
    asks_for_one: bool
    is_clear: bool
    covered: tuple[Span, ...]


def read_table_wording(text: str) -> TableWording:
    """Return what a question asks to be computed."""
    covered: list[Span] = []
    operation: Returned | None = None
    for pattern, returned in _OPERATIONS:
        for match in pattern.finditer(text):
            covered.append(Span(*match.span()))
            operation = operation or returned
    compared = [comparison.span for comparison in read_comparisons(text)]
    extremes: list[Extreme] = []
    for pattern, dimension, descending in _SUPERLATIVES:
        for match in pattern.finditer(text):
            span = Span(*match.span())
            # Neither "most expensive" nor "at most 5" asks for the most.
            around = [*compared, *(extreme.span for extreme in extremes)]
            if not any(o.start <= span.start and span.end <= o.end for o in around):
                extremes.append(Extreme(dimension, descending, span))
    covered += [extreme.span for extreme in extremes]
    limit, when = _LIMIT.search(text), _WHEN.search(text)
    covered += [Span(*match.span()) for match in (limit, when) if match is not None]
    return TableWording(
        operation,
        extremes[0] if len(extremes) == 1 else None,
        int(next(group for group in limit.groups() if group)) if limit else 1,
        asks_when=when is not None,
        asks_who=_WHO.search(text) is not None,
        asks_for_one=_ONE.search(text) is not None,
        is_clear=len(extremes) < 2 and _YES_NO.search(text) is None,
        covered=tuple(covered),
    )


def is_grouping(text: str, span: Span) -> bool:
    """Return whether words before a part of a question say that it is asked for each."""
    return _GROUPING.search(text[: span.start]) is not None


def is_asked_for(text: str, span: Span) -> bool:
    """Return whether a question asks which of the things it is that a part of it names."""
    return bool(_WHICH.search(text[: span.start]) or _WHICH_ZH.search(text))


def unaccounted(text: str, covered: Iterable[Span]) -> list[str]:
    """Return the words of a question that neither ``covered`` spans nor known words explain."""
    characters = list(text)
    for span in covered:
        characters[span.start : span.end] = " " * (span.end - span.start)
    left = "".join(characters)
    left = _HAN.sub(lambda match: _STRUCTURE_ZH.sub(" ", match[0]), left)
    words = (word.lower().removesuffix("'s") for word in _WORD.findall(left))
    return [word for word in words if word not in _STRUCTURE]
