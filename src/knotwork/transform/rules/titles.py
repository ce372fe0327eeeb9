"""Titles and headings: which of them name a thing, and what they name."""

from __future__ import annotations

import re
from typing import NamedTuple

from knotwork.text.characters import HAN_AND_KANA
from knotwork.text.names import STOP_NAMES, normal_form
from knotwork.transform.rules.vocabulary import JOINERS

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_NUMBERING = re.compile(
    r"^\s*(?:#+\s*)?(?:"
    r"(?:chapter|section|part|appendix|article|book|volume|annex)\s+(?:[ivxlc]+|\d+|[a-z])\b"
    r"\s*[.:—–-]*\s*"
    r"|\d{1,2}(?:\.\d+)*[.)、．:]?\s+|\d+(?:\.\d+)+[.)]?\s*|[ivxlc]{1,6}[.)]\s+|[a-z][.)]\s+"
    r"|第[\d一二三四五六七八九十百零〇]+[章节節回篇部条條卷编編][\s:：、.]*"
    r"|[（(]?[一二三四五六七八九十]{1,3}[）)、．.]\s*|\d+、\s*"
    r")",
    re.IGNORECASE,
)
_LONGEST_READ = 400
_MARKUP = re.compile(r"[*_`#]+|\s+#+$")
_CODE = re.compile(r"[a-z]{0,4}[\W_]*\d+(?:[\W_]*\d+)*[a-z]?", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:novel|doc|document|file|page|text|chapter|part|section|slide|sheet|scan|img|image|untitled"
    r"|article|passage|note|notes|draft|copy|report|book|story|figure|table|appendix|文档|文件|第)"
    r"[\W_]*\d*[\W_]*",
    re.IGNORECASE,
)
_HAN = re.compile(f"[{HAN_AND_KANA}]")
_GENERIC_TITLES = (
    "introduction|intro|overview|background|summary|abstract|conclusion|conclusions|discussion|"
    "results|methods|method|references|bibliography|further reading|external links|see also|"
    "notes|footnotes|appendix|contents|table of contents|index|preface|foreword|prologue|"
    "epilogue|acknowledgements|acknowledgments|about|about us|contact|contact us|home|faq|"
    "readme|license|changelog|usage|examples|example|getting started|installation|features|"
    "requirements|glossary|history|description|details|general|general information|purpose|"
    "scope|definitions|miscellaneous|other|others|questions|answers|untitled|title|document|"
    "main|misc|test|new|part|chapter|section|early life|career|personal life|legacy|plot|cast|"
    "reception|production|life|works|awards|filmography|discography|biography|geography|"
    "demographics|economy|etymology|gallery|sources|key points|next steps|agenda|minutes|"
    "前言|引言|绪论|序言|序|概述|概要|简介|介绍|背景|摘要|目录|结论|总结|小结|结语|参考文献|附录|"
    "致谢|说明|其他|备注|注释|正文|历史|发展历史|内容|定义|特点|特征|意义|目的|范围|外部链接|参见|后记"
)
_GENERIC = frozenset(map(normal_form, _GENERIC_TITLES.split("|")))


_SENTENCE_WORDS = STOP_NAMES - JOINERS - {"a", "an", "i", "my", "no"}


class Title(NamedTuple):
    """A title that names something: its text, its key, and whether it is a name as a whole.

    A phrase ("Why travel abroad must be approved") is rather about the names inside it.
    """

    text: str
    form: str
    is_phrase: bool


def read_title(raw: str, *, longest_words: int, heading: bool = False) -> Title | None:
    """Return what a document's title or a heading names, or None when it names nothing.

    Markup, file endings and the numbers of headings are dropped; "Untitled 3", "AF01.md" and
    "Overview" name nothing.
    """
    text = _MARKUP.sub("", raw[:_LONGEST_READ]).strip()
    bare = _EXTENSION.sub("", text)
    if bare != text and " " not in bare:
        if _CODE.fullmatch(bare):
            return None
        text = re.sub(r"[_-]+", " ", bare).strip()
    if heading:
        text = _NUMBERING.sub("", text, count=1)
    text = text.strip(" \t:：.。、")
    if not text or _NUMBERED.fullmatch(text):
        return None
    form = normal_form(text)
    words = text.split()
    han = len(_HAN.findall(text))
    number = form.isdigit() and (heading or len(form) < 3)
    if form in _GENERIC or len(form) < 2 or number or not any(c.isalnum() for c in form):
        return None
    if len(words) > longest_words or han > 3 * longest_words:
        return Title(text, "", is_phrase=True)
    return Title(text, form, _is_phrase(words, text, han))


def _is_phrase(words: list[str], text: str, han: int) -> bool:
    if han:
        return han > 12 or any(sign in text for sign in "，：,:！？!?")
    small = sum(word[0].islower() and word.lower() not in JOINERS for word in words)
    if len(words) > 6 and small == 0:
        return any(word.lower() in _SENTENCE_WORDS for word in words)
    return len(words) > 6 or text.endswith("?") or (small > 1 and len(words) > 4)
