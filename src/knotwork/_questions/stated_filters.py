"""Read the times and versions of documents that a question states, as a filter."""

from __future__ import annotations

import re
from datetime import date
from itertools import chain
from typing import NamedTuple

from knotwork._text.dates import (
    DAY,
    DECADE,
    MONTH_OF_YEAR,
    RELATIVE,
    read_day_range,
    resolve_relative,
)
from knotwork.records import AllOf, Comparison, Condition, Filter

DATE, VERSION = "date", "version"
"""The fields that are compared."""

_TIME = (
    rf"(?:the\s+)?(?:{RELATIVE}|{DAY}|{MONTH_OF_YEAR}|{DECADE}"
    r"|[12]\d{3}-\d{1,2}(?![\d-])"
    r"|[12]\d{3}(?!\d|-|\s*(?:%|percent|euros?|dollars?|people|items?|words?))"
    r")"
)
_NOUN = (
    r"(?:documents|docs|notes|reports|articles|(?:blog\s+)?posts|e-?mails|letters|memos"
    r"|papers|minutes|newsletters|announcements)"
)
_MADE = r"(?:written|published|dated|posted|sent|created|issued|updated|modified|released)"
_OF_DOCUMENTS = re.compile(
    rf"\b(?P<noun>{_NOUN})\s+(?:(?:that|which)\s+(?:was|were|is|are)\s+)?(?:"
    rf"(?:{_MADE}\s+)?(?:(?P<sign>since|after|before|until|up\s+to)\s+(?P<edge>{_TIME})"
    rf"|(?:between|from)\s+(?P<first>{_TIME})\s+(?:and|to|until)\s+(?P<last>{_TIME})"
    rf"|(?:from|dated)\s+(?P<from>{_TIME}))"
    rf"|{_MADE}\s+(?:in|on|during)\s+(?P<in>{_TIME})"
    rf"|dated\s+(?P<dated>{_TIME}))(?!\w)",
    re.IGNORECASE,
)
_SIGNS = {
    "since": Comparison.AT_LEAST,
    "以来": Comparison.AT_LEAST,
    "after": Comparison.MORE,
    "before": Comparison.LESS,
    "之前": Comparison.LESS,
    "以前": Comparison.LESS,
    "until": Comparison.AT_MOST,
    "up to": Comparison.AT_MOST,
}

_TIME_ZH = rf"(?:{DAY}|{MONTH_OF_YEAR}|{DECADE}|[12]\d{{3}}\s*年|{RELATIVE})"
_NOUN_ZH = "(?:文档|文件|报告|文章|邮件|笔记|会议纪要|纪要|会议记录|备忘录|通知|公告|论文)"
_MADE_ZH = "(?:发布|发表|撰写|写|发送|发出|创建|更新|修改|签发|印发)"
_OF_DOCUMENTS_ZH = re.compile(
    rf"(?P<time>{_TIME_ZH})(?P<sign>以来|之前|以前)?(?:所?{_MADE_ZH})?的(?:所有|全部|那些|这些)?(?P<noun>{_NOUN_ZH})"
)

_OF_VERSION = re.compile(
    r"\b(?P<sign>since|after|before|until|up\s+to)\s+version\s+(?P<number>\d+(?:\.\d+)?)(?![\w.]*\w)",
    re.IGNORECASE,
)
_OF_VERSION_ZH = re.compile(r"(?:自|从)?版本\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<sign>以来)")

_PLACE = re.compile(
    r",?\s*\b(?:in|from|within|by|per|according\s+to|based\s+on|using)\s+"
    r"(?:(?:the|all|any|our|my|these|those)\s+)*$",
    re.IGNORECASE,
)
"""Words before "reports from 2023" that make the documents the place to search, not the topic."""

_PLACE_ZH = re.compile(r"(?:里面?|中|之?内|上)?[，,]?")
_PLACE_BEFORE_ZH = re.compile(r"(?:在|根据|按照|依据|从)?$")

_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_TIMES = ("first", "last", "edge", "from", "in", "dated", "time")


class StatedFilter(NamedTuple):
    """A filter, the words of the question that state it, and the question without them."""

    filter: Filter
    words: str
    rest: str

    @property
    def field(self) -> str:
        """The field that the filter compares."""
        part = self.filter.parts[0] if isinstance(self.filter, AllOf) else self.filter
        assert isinstance(part, Condition)
        return part.field


def find_stated_filter(question: str, *, today: date) -> StatedFilter | None:
    """Return the only filter that a question states, or None.

    A question with a second time may compare documents of two times, so it states no filter.
    """
    found: list[StatedFilter] = []
    of_documents, of_versions = (_OF_DOCUMENTS, _OF_DOCUMENTS_ZH), (_OF_VERSION, _OF_VERSION_ZH)
    for match in chain.from_iterable(form.finditer(question) for form in of_documents):
        stated = match.groupdict()
        dates = [resolve_relative(stated[name], today) for name in _TIMES if stated.get(name)]
        if all(map(read_day_range, dates)):
            is_range = len(dates) > 1
            signs = (Comparison.AT_LEAST, Comparison.AT_MOST) if is_range else (_sign(match),)
            parts = [Condition(DATE, *pair) for pair in zip(signs, zip(dates), strict=True)]
            whole = AllOf(tuple(parts)) if is_range else parts[0]
            found.append(StatedFilter(whole, match[0], _without(match)))
    for match in chain.from_iterable(form.finditer(question) for form in of_versions):
        condition = Condition(VERSION, _sign(match), (match["number"],))
        found.append(StatedFilter(condition, match[0], question))
    if len(found) != 1 or _YEAR.search(question.replace(found[0].words, " ", 1)):
        return None
    return found[0]


def _sign(match: re.Match[str]) -> Comparison:
    return _SIGNS.get(" ".join((match["sign"] or "").lower().split()), Comparison.EQUAL)


def _without(match: re.Match[str]) -> str:
    """Return the question without the time, and without the documents if they are only a place."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    if match["noun"].isascii():
        if place := _PLACE.search(before):
            return f"{before[: place.start()]}{after}".lstrip(" ,")
    elif (place := _PLACE_ZH.match(after)) and place[0]:
        return _PLACE_BEFORE_ZH.sub("", before) + after[place.end() :]
    return f"{before}{match['noun']}{after}"
