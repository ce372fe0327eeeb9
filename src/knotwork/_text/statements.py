"""Weigh sentences, and choose those that represent a text or are about a subject.

Documents contain much text that is not a sentence: rows of badges, commands, headings, lists of
links. The share of words among its tokens distinguishes prose from it. Facts such as
``Price: 12 EUR`` and the rows of tables consist of words and numbers, and so count as prose.

Reports, overviews and themes all choose here. A statement is a whole sentence of prose, or a short
list item, that can be quoted alone.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from knotwork._text.languages import HAN_AND_KANA, HAN_OR_KANA, detect_language
from knotwork._text.plain_text import split_number
from knotwork._text.terms import content_terms
from knotwork.records import AnswerSpan, Block, BlockKind, Chunk, Span

FULL_SHARE = 0.8
"""A sentence with at least this share of words is prose; below it, the squared share counts."""

FULL_WORDS = 3
"""Sentences of fewer words weigh proportionally less."""

LEAST_WEIGHT = 0.02
"""The weight of text without any prose, which may be all that a passage has."""

FACT_WEIGHT = 0.9
"""The least weight of a labelled address, as in ``Bug reports: https://…``: it is a fact."""

HEADING_WEIGHT = 0.5
"""The weight of a heading: it names the content of its section without stating it."""

LEAD_IN_WEIGHT = 0.6
"""The weight of a lead-in, which ends with a colon or with "in three steps."."""

CODE_WEIGHT = 0.4
"""The weight of what a loader marks as code or output, whatever words it contains."""

_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)\s]*[^)]*\)|\[[^\]]*\])?")
_LINK = re.compile(r"\[([^\[\]]*)\](?:\([^)\s]*[^)]*\)|\[[^\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_MAIL_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WIDE = re.compile(f"[{HAN_AND_KANA}]+")
_OPTION = re.compile(r"--?[A-Za-z]")
# Inside a token, these mark a path, a call, an assignment, an address or a file name.
_CODE_INSIDE = re.compile(r"[\\_=<>{}\[\]()|@#^~`*$%]|://|::|/[^/]*/|[^\W\d_]{2}\.[^\W\d_]{2}")
_CODE_ALONE = re.compile(r"[\\=<>{}\[\]()@#$^~`*;%]+")
_LABELLED_ADDRESS = re.compile(r"[^\W\d_][^:：\n]{0,60}[:：]\s[^\n]{0,60}?<?(?:\w+://|www\.)\S+")
_EMPHASIS = re.compile(r"\*\*|__|`")
_HEADING = re.compile(r"#{1,6}\s")
_NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|several|the following|\d+)"
_ANNOUNCING = re.compile(
    rf"[:：]$|\b(?:as follows|in {_NUMBER} (?:steps|stages|phases|parts))\.$"
    r"|(?:分(?:为|成)?[两二三四五六七八九十几\d]+(?:大|个)?(?:步骤?|阶段|部分|类|种|点|方面)|如下|以下几[点步种类])[。；]?$",
    re.IGNORECASE,
)

_ASKING = re.compile(r"[?？][\s*_|\"'”’»」』)）]*$")


def weigh_prose(text: str) -> float:
    """Return how much of a sentence is prose, from `LEAST_WEIGHT` to 1."""
    words, others = _count_tokens(text)
    if not words:
        return LEAST_WEIGHT
    share = min(1.0, words / (words + others) / FULL_SHARE)
    weight = share**2 * min(1.0, words / FULL_WORDS)
    bare = _EMPHASIS.sub("", text).strip().lstrip("-*+• ")
    if _LABELLED_ADDRESS.fullmatch(bare):
        weight = max(weight, FACT_WEIGHT)
    if _HEADING.match(bare):
        weight *= HEADING_WEIGHT
    if announces(bare):
        weight *= LEAD_IN_WEIGHT
    return max(weight, LEAST_WEIGHT)


def is_question(text: str) -> bool:
    """Return True if a sentence ends as a question, whatever marks surround it."""
    return _ASKING.search(text) is not None


def announces(text: str) -> bool:
    """Return whether a sentence announces what follows it: "The values are as follows."."""
    return _ANNOUNCING.search(text.strip()) is not None


def _count_tokens(text: str) -> tuple[float, int]:
    """Return the number of words in a text, and that of other tokens.

    A link counts as its words and one token, an image or a tag as one token, an e-mail address as
    a word. In scripts without spaces, two characters count as a word.
    """
    plain, images = _IMAGE.subn(" ", _MAIL_ADDRESS.sub("address", text))
    linked, links = _LINK.subn(r" \1 ", plain)
    bare, tags = _TAG.subn(" ", linked)
    words, others = 0.0, images + links + tags
    for token in _WIDE.sub(r" \g<0> ", bare).split():
        core = _strip_marks(token)
        if not core:
            others += bool(_CODE_ALONE.search(token))
        elif _OPTION.match(token) or _CODE_INSIDE.search(core):
            others += 1
        elif _WIDE.match(core):
            words += len(core) / 2
        else:
            words += 1
    return words, others


def _strip_marks(token: str) -> str:
    of_word = [
        place
        for place, character in enumerate(token)
        if character.isalnum() or unicodedata.category(character)[0] == "M"
    ]
    return token[of_word[0] : of_word[-1] + 1] if of_word else ""


_SHORTEST = 30
_SHORTEST_WIDE = 12
_LONGEST = 500
_HAN = re.compile("[\u3400-\u9fff]")
_WIDE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")
_LEAST_LETTERS = 0.6
_MARKUP = re.compile(r"\||<[!/?A-Za-z]|[{}]|\w_\w+_\w")
_ASCII = re.compile(r"[\x00-\x7f]+")
_NO_LETTERS = bytes(b for b in range(128) if not (chr(b).isalpha() or chr(b).isspace()))


def flat_text(text: str) -> str:
    """Return text on one line; line breaks within Chinese text leave no space."""
    return " ".join((text if text.isascii() else _WIDE_BREAK.sub("", text)).split())


def is_prose(text: str) -> bool:
    """Return False if a sentence is too short or too long, mostly numbers, or markup."""
    length = len(text)
    if not _SHORTEST_WIDE <= length <= _LONGEST:
        return False
    if length < _SHORTEST and not _HAN.search(text):
        return False
    return _count_letters(text) >= _LEAST_LETTERS * length and _MARKUP.search(text) is None


def _count_letters(text: str) -> int:
    count = len(text.encode("ascii", "ignore").translate(None, _NO_LETTERS))
    if not text.isascii():
        rest = _ASCII.sub("", text)
        count += sum(map(str.isalpha, rest)) + sum(map(str.isspace, rest))
    return count


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SelectedSentence:
    """A sentence that can be quoted in an answer.

    ``odds`` are the log-odds that it answers, as a reader predicts, or None if its passage was not
    read; ``answer`` are the words that answer, as offsets in the passage. ``also`` are sentences
    that say the same elsewhere.
    """

    chunk: Chunk
    span: Span
    text: str
    worth: float
    rank: int
    odds: float | None = None
    answer: AnswerSpan | None = None
    also: tuple[SelectedSentence, ...] = ()

    @property
    def is_likely(self) -> bool:
        """True if it rather answers than not, in the view of a reader that has read it."""
        return self.odds is not None and self.odds > 0.0


_REPETITION = 0.7
"""Penalty per unit of similarity to a chosen sentence."""
_SAME_ORIGIN = 0.15
"""Penalty per sentence chosen from the same origin."""
_UNFINISHED = 0.6
"""Factor of the score of a sentence without final punctuation, such as a heading or a cell."""
_STOPS = (".", "!", "?", "。", "！", "？", "”", '"', "」", "…")
_MOST_COMPARED = 150


def choose_sentences(
    texts: Sequence[str], worths: Sequence[float], origins: Sequence[Hashable], *, count: int
) -> list[int]:
    """Return the places of the ``count`` sentences to quote, the best first.

    A sentence is central if its worth is high and it resembles many other sentences (degree
    centrality, Erkan and Radev, 2004). Similarity to chosen sentences lowers its score (maximal
    marginal relevance, Carbonell and Goldstein, 1998), and so do those of its origin, a passage.
    """
    if not texts:
        return []
    similarity = _similarities(texts)
    finished = [1.0 if text.endswith(_STOPS) else _UNFINISHED for text in texts]
    central = _scaled(similarity.sum(axis=1))
    scores = (_scaled(np.array(worths)) + central) / 2 * np.array(finished)
    places: dict[Hashable, int] = {}
    numbers = np.array([places.setdefault(origin, len(places)) for origin in origins])
    taken = np.zeros(len(places))
    chosen: list[int] = []
    repeated = np.zeros(len(texts))
    while len(chosen) < min(count, len(texts)):
        worth = np.round(scores - _REPETITION * repeated - _SAME_ORIGIN * taken[numbers], 9)
        worth[chosen] = -np.inf
        best = int(worth.argmax())
        if chosen and worth[best] <= 0 and len(places) > 1:
            break
        chosen.append(best)
        taken[numbers[best]] += 1
        repeated = np.maximum(repeated, similarity[best])
    return chosen


def choose_statements(
    statements: Iterable[SelectedSentence], *, count: int
) -> list[SelectedSentence]:
    """Return the ``count`` statements to quote, from as many sections as possible, in order."""
    best = sorted(statements, key=lambda item: -item.worth)[:_MOST_COMPARED]
    texts = [flat_text(item.text) for item in best]
    chosen = choose_sentences(
        [text if text.endswith(_STOPS) else f"{text}." for text in texts],
        [item.worth for item in best],
        [item.chunk.section_id for item in best],
        count=count,
    )
    return sorted((best[place] for place in chosen), key=lambda item: item.rank)


def _similarities(texts: Sequence[str]) -> Floats:
    """Return the cosine similarity of the terms of each pair of sentences, of shape (n, n).

    A term of a single sentence counts towards its norm only and has no column.
    """
    counts = [Counter(content_terms(text)) for text in texts]
    frequency = Counter(chain.from_iterable(counts))
    weight = {term: math.log(1 + len(counts) / times) for term, times in frequency.items()}
    shared = sorted(term for term, times in frequency.items() if times > 1)
    column = {term: place for place, term in enumerate(shared)}
    table = np.zeros((len(counts), len(shared)))
    squares = np.zeros(len(counts))
    for row, terms in enumerate(counts):
        squares[row] = math.fsum((times * weight[term]) ** 2 for term, times in terms.items())
        for term in terms.keys() & column.keys():
            table[row, column[term]] = terms[term] * weight[term]
    products = table @ table.T
    np.fill_diagonal(products, squares)
    lengths = np.sqrt(np.maximum(squares, 1e-12))
    similarity: Floats = products / np.outer(lengths, lengths)
    return similarity


def _scaled(values: Floats) -> Floats:
    return values / max(float(values.max()), 1e-12)


_LEAST_PROSE = 0.6
"""The least share of prose in a statement."""
_LEANING_WEIGHT = 0.4
"""The factor for a sentence that cannot be understood without the one before it."""
_POINTING_WEIGHT = 0.5
"""The factor for a sentence that refers to another section or figure, and for a question."""
_LEGAL_WEIGHT = 0.1
_EDITION_WEIGHT = 0.2
"""The factor for a short sentence about the edition of a text: its version, authors or date."""
_LONG_WEIGHT = 0.5
_LONG, _LONG_WIDE = 260, 110
"""The number of characters from which a sentence is long for a summary."""
_LONGEST_EDITION = 100
_OPENING_GAIN = 1.3
"""The factor for the first sentence of a paragraph."""
_PURPOSE_GAIN = 2.0
"""The factor for a sentence that says what its text is about."""
_TITLE_GAIN = 0.5
"""The additional share for a sentence with all terms of the heading above it, or of a subject."""
_FULL_TERMS = 6
"""A sentence of fewer distinct terms is worth proportionally less."""
_HALF_WAY = 8
"""The position in its section, from 0, at which a sentence is worth half of the first."""
_ASIDE_WEIGHT = 0.3
"""The factor for a sentence in a box beside the text."""
_OTHER_LANGUAGE_WEIGHT = 0.5
_LONGEST_ITEM, _LONGEST_ITEM_WIDE = 160, 80
"""The number of characters up to which an item is quoted whole."""

_TEXT_NOUN = (
    "(?:book|manual|handbook|guide|documentation|tutorial|report|paper|collection|course|wiki|site"
    "|document|novel|story|article|post|page|chapter|section|notebook|policy|leaflet|agreement"
    "|contract)"
)
_LEANING = re.compile(
    rf"^\(|^[\"'“‘\[]*(?:(?:see|this(?! {_TEXT_NOUN}\b)|that|these|those|it|its|they|their|he|she"
    r"|his|her|him|such|however|but|notice|remember|recall"
    r"|and|or|also|then|thus|therefore|hence|moreover|furthermore|instead|otherwise|now|here|so"
    r"|similarly|likewise|finally|additionally|besides|nevertheless|still|yet|both|once again"
    r"|yes|no|examples?:"
    r"|in (?:addition|particular|fact|contrast|this|that|these|those|such|other words)"
    rf"(?! {_TEXT_NOUN}\b)"
    r"|for (?:example|instance|this|that|these)|as (?:a result|such|mentioned|noted|before|above)"
    r"|on the other hand|of course|at this|the (?:latter|former|above|following|same|other))\b"
    r"|i\.e|e\.g)"
    r"|^[“‘（《]*(?:这(?!篇|本|份)|這(?!篇|本|份)|那|该|該|此|它|他|她|其|但|而|因此|所以|因而|于是|於是|另外|例如|比如|然而|同时|同時|并且|並且"
    r"|不过|不過|也|还|還|则|則|然后|然後|最后|最後|接着|接著|上述|以上|另一|如此|如果是这样|如果是這樣|总之|總之|首先|其次|再次|现在|現在|即)",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:see|cf\.?|refer to) (?:also |the |section|chapter|figure|table|appendix|sidebar)"
    r"|\b(?:above|below|following|previous|next) (?:section|chapter|example|table|figure|command)"
    r"|[?？]\s*$|如下|上述|下面|见第|請參閱|请参阅|参见|參見|[:：]$",
    re.IGNORECASE,
)
_LEGAL = re.compile(
    r"\bcopyright\b|©|\ball rights reserved\b|\blicen[cs]ed under\b|\bpermission (?:is|notice)\b"
    r"|\bpublic license\b|\bwarrant(?:y|ies) of\b|\bISBN\b|\bproject gutenberg\b|\be-?books?\b"
    r"|\bcookies?\b|\bunsubscribe\b|\btrademarks?\b|\btable of contents\b"
    r"|许可证[^，。]{0,4}(?:发布|發佈|授权)|以[^，。]{0,8}许可证|版权所有|版權所有|著作权|著作權|未经许可|免责声明|(?:任何|品质)(?:形式的)?(?:担保|擔保)|保留所有权利|目录|转码|原文地址|转载",
    re.IGNORECASE,
)
_EDITION = re.compile(
    r"^(?:(?:report|notes?|minutes|article|paper) (?:by|of|from)|present(?=:)|attendees?(?=:)"
    r"|version|edition|revision|adopted|approved|issued|published|printed|revised|reviewed"
    r"|written|translated|compiled|posted|dear|hello|hi|welcome|thanks?|last (?:updated|amended"
    r"|revised|changed|reviewed)|(?:effective|in force|valid) (?:from|since|as of)|by [A-Z])\b"
    r"|(?:修订|修訂|通过|通過|修正|审定|編訂|编订|整理|发布|發佈|公布之日起\w{2})[。.]?$|^(?:[甲乙丙]方|\w{2}方)[:：]|^(?:版本|作者|译者|编者|发布|更新|生效|时间：|出席|主持人)"
    r"|^(?:大家好|你好|您好|亲爱的|各位|欢迎|感谢)|起(?:施行|执行|生效|实施)|以[^，。]{1,12}为准|负责解释",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    rf"(?:\b(?:this|the present|our) (?:\w+ )?{_TEXT_NOUN}|^it) (?:also )?"
    r"(?:is (?:about|for|intended|meant)|aims|describes|covers|explains|teaches|introduces|provides"
    r"|presents|contains|tells|shows|discusses|deals with|documents|collects|sets out|says)\b"
    rf"|\bthe (?:purpose|aim|goal|subject|topic) of this {_TEXT_NOUN} is\b"
    rf"|\bin this {_TEXT_NOUN},? (?:we|i|you)\b"
    r"|^(?:here )?we (?:present|propose|introduce|describe)\b"
    r"|(?:本书|本書|本手册|本手冊|本文|本指南|本报告|本報告|本教程|本文档|本小说|本办法|本政策|本规定|本规章|[这這本][篇份](?:文章|文|报告|指南))[^，。]{0,6}?[，,]?(?:我们)?(?:将|將|会|會)?(?:系统|全面|深入|详细)?(?:地)?"
    r"(?:介绍|介紹|讲述|講述|描述|旨在|涵盖|涵蓋|说明|說明|讨论|討論|面向|解析|探讨|探討|分析|梳理|阐述|适用|(?:目的|目标|目標|宗旨|主题|主題)(?:就)?是)",
    re.IGNORECASE,
)
_MARK = re.compile(r"^[ \t]*(?:[-*+•‣◦>]|\(?\d{1,3}[.)、]|\(?[a-z][.)])[ \t]+")
_FINISHED = re.compile(r"[.!?。！？…][\"'”’)）」』\]]*$")
_NOT_PROSE = (BlockKind.CODE, BlockKind.FIGURE)


def states_purpose(text: str) -> bool:
    """Return True if a sentence says what its text is about: "This guide describes …"."""
    return _PURPOSE.search(text) is not None


def is_wide_text(text: str) -> bool:
    """Return True if at least a third of the characters are Chinese or Japanese."""
    return len(HAN_OR_KANA.findall(text)) * 3 >= len(text)


def leans(text: str) -> bool:
    """Return whether a sentence can hardly be understood without the one before it."""
    return _LEANING.search(text) is not None


def weigh_alone(text: str) -> float:
    """Return how well a sentence can be understood without its context: 1 is usual."""
    weight = 1.0
    if leans(text):
        weight *= _LEANING_WEIGHT
    if _POINTING.search(text):
        weight *= _POINTING_WEIGHT
    if _LEGAL.search(text):
        weight *= _LEGAL_WEIGHT
    is_wide = is_wide_text(text)
    if states_purpose(text):
        weight *= _PURPOSE_GAIN
    elif len(text) <= _LONGEST_EDITION / (1 + is_wide) and _EDITION.search(text):
        weight *= _EDITION_WEIGHT
    if len(text) > (_LONG_WIDE if is_wide else _LONG):
        weight *= _LONG_WEIGHT
    return weight


def is_statement(chunk: Chunk, span: Span, text: str, *, is_item: bool = False) -> bool:
    """Return True if a span of a chunk is a whole sentence of prose: no code, heading or cell.

    If ``is_item``, the items of a list that a sentence introduces need not end as sentences do:
    others are menus.
    """
    flat = _MARK.sub("", flat_text(text))
    titles = {title.casefold() for title in (*chunk.headings, chunk.document_title)}
    if not may_quote(chunk, span, flat) or {flat.casefold(), split_number(flat)[1].casefold()} & {
        *titles,
        *(split_number(title)[1] for title in titles),
    }:
        return False
    if weigh_prose(flat) < _LEAST_PROSE:
        return False
    around = chunk.blocks_around(span)
    is_led = is_item and any(b.kind is BlockKind.LIST and b.lead for b in around)
    return (is_led or _FINISHED.search(flat) is not None) and not any(
        block.kind is BlockKind.TABLE for block in around
    )


def may_quote(chunk: Chunk, span: Span, flat: str) -> bool:
    """Return True if a part of a chunk, on one line, is prose: no code, caption or address."""
    return is_prose(flat) and is_plain(chunk, span, flat)


def is_plain(chunk: Chunk, span: Span, flat: str) -> bool:
    """Return True if a part of a chunk, on one line, is no code, heading, caption or address."""
    if "://" in flat or flat.startswith("#"):
        return False
    return not any(block.kind in _NOT_PROSE for block in chunk.blocks_around(span))


def read_statements(
    chunks: Iterable[Chunk], *, about: str = "", title: str = "", language: str = ""
) -> list[list[SelectedSentence]]:
    """Return the statements of each paragraph or item that has any, in reading order.

    A statement is worth more near the beginning of its section, if it opens its paragraph, if it
    can be understood alone, with terms of the ``title``, by default of the heading above it, or of
    the subject ``about``, and in ``language``. ``rank`` is its place in the text.
    """
    asked = frozenset(content_terms(about))
    paragraphs: list[list[SelectedSentence]] = []
    places: Counter[str] = Counter()
    titles: dict[str, frozenset[str]] = {}
    rank = 0
    for chunk in chunks:
        above = title or (chunk.headings[-1] if chunk.headings else chunk.document_title)
        named = titles.setdefault(
            chunk.section_id, frozenset(content_terms(split_number(above)[1]))
        )
        for _, group in groupby(_quotable(chunk), key=itemgetter(0)):
            found: list[SelectedSentence] = []
            for _, span, is_aside in group:
                text = chunk.text_at(span)
                if not is_statement(chunk, span, text, is_item=True):
                    continue
                worth = _weigh(text, (named, asked), language) / (
                    1 + places[chunk.section_id] / _HALF_WAY
                )
                worth *= 1.0 if found else _OPENING_GAIN
                worth *= _ASIDE_WEIGHT if is_aside else 1.0
                found.append(SelectedSentence(chunk, span, text, worth, rank))
                places[chunk.section_id] += 1
                rank += 1
            if found:
                paragraphs.append(found)
    return paragraphs


def _weigh(text: str, subjects: Iterable[frozenset[str]], language: str) -> float:
    bare = _MARK.sub("", flat_text(text))
    terms = set(content_terms(bare))
    worth = weigh_alone(bare) * weigh_prose(bare) * min(1.0, len(terms) / _FULL_TERMS)
    for named in subjects:
        worth *= 1 + _TITLE_GAIN * len(named & terms) / max(len(named), 1)
    if language and detect_language(bare) != language:
        worth *= _OTHER_LANGUAGE_WEIGHT
    return worth


def _quotable(chunk: Chunk) -> Iterator[tuple[Hashable, Span, bool]]:
    """Yield the paragraph, the span and whether it is in a box of each sentence of a chunk.

    A short item is one sentence.
    """
    end = -1
    for first in chunk.sentences:
        if first.start < end:
            continue
        span = first
        around = [b for b in chunk.blocks_around(span) if b.kind is not BlockKind.SECTION]
        is_aside = any(block.kind is BlockKind.BOX for block in around)
        inner = around[-1] if around else None
        paragraph: Hashable = inner and inner.span
        if inner is None or inner.kind is BlockKind.BOX:
            paragraph = chunk.text.rfind("\n\n", 0, span.start - chunk.span.start)
        elif inner.kind is BlockKind.ITEM and _is_short_item(chunk, inner):
            ends = (other.end for other in chunk.sentences if inner.span.contains(other))
            span = Span(span.start, max(ends))
        end = span.end
        yield paragraph, span, is_aside


def _is_short_item(chunk: Chunk, item: Block) -> bool:
    if not chunk.span.contains(item.span):
        return False
    text = chunk.text_at(item.span)
    has_list = any(b.kind is BlockKind.LIST and item.span.contains(b.span) for b in chunk.blocks)
    return not has_list and len(text) <= (
        _LONGEST_ITEM_WIDE if is_wide_text(text) else _LONGEST_ITEM
    )


_BOILERPLATE, _BOILERPLATE_WEIGHT = 3, 0.25
"""From so many times on, a sentence that is repeated says little about any of its places."""
_ALIKE = 0.8
"""The least share of common runs of three words, of all, in sentences that say the same."""
_WORDS = re.compile(rf"[{HAN_AND_KANA}]|\w+")


def tell_once(items: Iterable[SelectedSentence]) -> list[SelectedSentence]:
    """Return the first of the sentences with the same words, each with the others in ``also``."""
    alike: dict[tuple[str, ...], list[SelectedSentence]] = {}
    for item in items:
        alike.setdefault(_words_of(item.text), []).append(item)
    return [
        replace(
            first,
            worth=first.worth * (_BOILERPLATE_WEIGHT if len(others) + 1 >= _BOILERPLATE else 1.0),
            also=(*first.also, *others),
        )
        if others
        else first
        for first, *others in alike.values()
    ]


def say_the_same(one: str, other: str) -> bool:
    """Return True if two sentences hardly differ, and have the same numbers."""
    words, others = _words_of(one), _words_of(other)
    if words == others:
        return True
    numbers, theirs = ({w for w in held if w[0].isdigit()} for held in (words, others))
    if numbers != theirs or not words or not others:
        return False
    runs, runs_of_other = ({held[i : i + 3] for i in range(len(held))} for held in (words, others))
    return len(runs & runs_of_other) >= _ALIKE * len(runs | runs_of_other)


def _words_of(text: str) -> tuple[str, ...]:
    return tuple(_WORDS.findall(text.casefold()))


_LONGEST_LEAD = 400
"""Characters up to which the sentences of a lead paragraph are quoted; half as many in Chinese."""
_SHORT_LEAD = 70
"""A shorter lead gets the next sentence too: it may be a fragment."""
_ABOVE_GAIN = 1.5
"""The factor for a paragraph above all sections, where a lead is looked for."""
_HALF_WAY_DOWN = 6
"""The position in a text, from 0, at which an opening paragraph is worth half of the first."""
_LEAST_LEAD = 0.05
"""The least worth of a lead: others are notices and references."""
_LEAST_FOLLOWING, _LEAST_ADDED = 0.25, 0.1
"""The least worth of a sentence that continues a lead, or a short one, as a share of its first."""


def choose_lead(
    paragraphs: Sequence[Sequence[SelectedSentence]], *, most: int = 1, opening: int = 0
) -> SelectedSentence | None:
    """Return what best introduces a text: a statement near its start, or None without any.

    The first ``opening`` paragraphs, which are above all sections, are preferred. Up to ``most``
    consecutive sentences of its paragraph are returned as one, if they are short.
    """
    ranked = [
        (
            item.worth * (_ABOVE_GAIN if place < opening else 1.0) / (1 + place / _HALF_WAY_DOWN),
            -place,
            -index,
        )
        for place, paragraph in enumerate(paragraphs)
        for index, item in enumerate(paragraph)
    ]
    worth, place, index = max(ranked, default=(0.0, 0, 0))
    if worth < _LEAST_LEAD:
        return None
    first, *others = paragraphs[-place][-index:]
    lead = first
    scale = 0.5 if is_wide_text(first.text) else 1.0
    for number, other in enumerate(others, start=1):
        span = Span(first.span.start, other.span.end)
        is_short = len(lead.text) < scale * _SHORT_LEAD
        if (number >= most and not is_short) or other.chunk != first.chunk:
            break
        if span.end - span.start > scale * _LONGEST_LEAD:
            break
        if other.worth < (_LEAST_ADDED if is_short else _LEAST_FOLLOWING) * first.worth:
            break
        lead = replace(first, span=span, text=first.chunk.text_at(span))
    return lead


def repeats(text: str, earlier: Iterable[frozenset[str]], *, share: float = 0.6) -> bool:
    """Return True if one of the earlier sets of terms contains most terms of a text."""
    terms = frozenset(content_terms(text))
    return not terms or any(len(terms & other) >= share * len(terms) for other in earlier)
