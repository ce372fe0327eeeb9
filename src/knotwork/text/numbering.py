"""Numbers before headings, as "14.7. Dealing with …", "Chapter 3: Storms" and "第二章 交通"."""

from __future__ import annotations

import re

_WORD = r"(?:chapter|section|part|appendix|annex|article)"
_NUMBERS = (
    re.compile(
        rf"{_WORD}\s+(\d{{1,3}}(?:\.\d{{1,3}})*|[A-Z](?:\.\d{{1,3}})*)(?:[.:)]|\b)\s*",
        re.IGNORECASE,
    ),
    re.compile(r"§\s*(\d{1,3}(?:\.\d{1,3})*)[.:)]?\s*"),
    re.compile(r"(\d{1,3}(?:\.\d{1,3})+)(?:[.:)]\s*|\s+|$)"),
    re.compile(r"(\d{1,3})[.:)]\s+"),
    re.compile(r"([A-Z](?:\.\d{1,3})*)[.:)]\s+"),
    re.compile(r"第\s*([\d一二三四五六七八九十百]+)\s*[章节節部篇条條回]\s*"),
    re.compile(r"(?:附录|附錄)\s*([A-Z]|[\d一二三四五六七八九十]+)(?:[.:：、]\s*|\s+)"),
)


def split_number(title: str) -> tuple[str, str]:
    """Return the number before a heading, as "14.7" or "二", and the rest; "" for no number.

    A number alone is followed by a stop: "100 years" has none. A heading that is all number keeps
    it as its rest.
    """
    for form in _NUMBERS:
        if found := form.match(title):
            return found[1].upper(), title[found.end() :].strip() or title
    return "", title
