"""Name the theme of a community: by the heading of most of its text, or by phrases of it.

People who wrote the documents have named their parts better than any list of frequent names does.
Where no heading covers enough, phrases that come back stand in, behind the most important name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knotwork.records import Chunk
from knotwork.text.numbering import split_number
from knotwork.text.terms import content_terms

_MOSTLY = 0.4
"""Share of the chunks from which one heading names the theme alone."""
_LEAST_COVERED = 0.2
"""Share of the chunks that the headings chosen must stand above."""
_LEAST_EACH = 0.1
_FEWEST_UNDER = 2
"""Chunks that a heading must stand above, unless there is but one in all."""
_DEPTH_GAIN = 1.15
"""How much more a deeper heading counts, as it is more precise."""
_LONGEST = 80
_MOST_PHRASES = 2

_FILE = re.compile(r"\.[a-z0-9]{2,5}$|[/\\_]", re.IGNORECASE)
_EVERYWHERE = re.compile(
    r"(?:an? )?(?:introduction|overview|summary|conclusions?|description|notes?|parameters?"
    r"|options?|arguments|examples?|usage|synopsis|compatibility|see also|references?|files?"
    r"|details|general|contents?|table of contents|index|preface|about|background|appendix"
    r"|environment|author\(?s?\)?|history|diagnostics|exit status|name|caveats|main|abstract"
    r"|acknowledge?ments|chapter \w+"
    r"|简介|簡介|概述|概要|介绍|介紹|说明|說明|描述|示例|例子|参考|參考|参考资料|參考資料|总结|總結|结论|結論|目录|目錄"
    r"|前言|附录|附錄|背景|注意|备注|參數|参数|选项|選項|其他|外部链接|外部連結|相关条目|註釋|注释|参见|參見)",
    re.IGNORECASE,
)
"""Headings that name a part of any text."""


class Heading(NamedTuple):
    """A heading and how many of the chunks that a report is made from are under it."""

    title: str
    chunks: int
    depth: int


def headings_above(chunks: Iterable[Chunk]) -> tuple[Heading, ...]:
    """Return the headings and titles above chunks, those above most of them first."""
    counts: defaultdict[str, int] = defaultdict(int)
    depths: dict[str, int] = {}
    for chunk in chunks:
        above = dict.fromkeys((chunk.document_title, *chunk.headings))
        for depth, title in enumerate(title for title in above if title):
            counts[title] += 1
            depths[title] = max(depth, depths.get(title, 0))
    found = [Heading(title, count, depths[title]) for title, count in counts.items()]
    return tuple(sorted(found, key=lambda heading: (-heading.chunks, heading.title)))


def name_theme(
    headings: Sequence[Heading], chunks: int, names: Sequence[str], phrases: Sequence[str]
) -> tuple[str, ...]:
    """Return the parts of a title: headings that cover enough, or else a name and phrases.

    ``chunks`` is how many chunks the headings stand above in all. Names alone are left where
    there is nothing else.
    """
    usable = [heading for heading in headings if _names_a_theme(heading, chunks)]
    usable.sort(key=lambda h: (-h.chunks * _DEPTH_GAIN**h.depth, h.title))
    chosen: list[Heading] = []
    for heading in usable:
        if heading.chunks < _LEAST_EACH * chunks or len(chosen) == _MOST_PHRASES:
            break
        if not any(_overlap(heading.title, other.title) for other in chosen):
            chosen.append(heading)
        if chosen[0].chunks >= _MOSTLY * chunks:
            break
    if sum(heading.chunks for heading in chosen) >= _LEAST_COVERED * chunks and chosen:
        return tuple(split_number(heading.title)[1] for heading in chosen)
    telling = [name for name in names if not _EVERYWHERE.fullmatch(name)] or list(names)
    if phrases:
        return (*telling[:1], *phrases[:_MOST_PHRASES])
    return tuple(telling[: _MOST_PHRASES + 1])


def _names_a_theme(heading: Heading, chunks: int) -> bool:
    bare = split_number(heading.title)[1]
    return (
        heading.chunks >= min(_FEWEST_UNDER, chunks)
        and len(bare) <= _LONGEST
        and not _EVERYWHERE.fullmatch(bare)
        and not _FILE.search(bare)
        and bool(content_terms(bare))
    )


def _overlap(one: str, other: str) -> bool:
    terms, others = set(content_terms(one)), set(content_terms(other))
    return terms <= others or others <= terms
