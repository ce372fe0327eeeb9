"""Decide whether a text is a SPARQL query that stays on its server, before anything is sent.

The grammar of pyoxigraph (extra `rdf`) decides: an update never begins as a query does. It parses
without running anything, as what is parsed ends in a character that no query has: the error must be
there and not before. What the grammar allows beyond one server, SERVICE, is found among the tokens.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from knotwork.errors import QueryRefused, QuerySyntaxError, required

MOST_CHARACTERS = 50_000
SELECT, ASK, CONSTRUCT, DESCRIBE = FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")

_END = "\x00"
_PLACE = re.compile(r"error at (\d+):(\d+)")
_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n\r]*)
  | (?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
  | (?P<string>\"\"\"(?:(?:\"|\"\")?(?:[^"\\]|\\.))*\"\"\" | '''(?:(?:'|'')?(?:[^'\\]|\\.))*'''
      | "(?:[^"\\\n\r]|\\.)*" | '(?:[^'\\\n\r]|\\.)*')
  | (?P<variable>[?$]\w+)
  | (?P<language>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)
  | (?P<name>(?:\w(?:[\w.-]*[\w-])?)?:(?:(?:[\w:.-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])*
      (?:[\w:-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%]))?)
  | (?P<word>[^\W\d_]\w*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED_CODE = re.compile(r"\\[uU][0-9a-fA-F]")
_BEFORE_FORM = frozenset({"BASE", "PREFIX", "VERSION"})


class CheckedSparql(NamedTuple):
    """A query that was checked, and its form: one of `FORMS`."""

    text: str
    form: str


def check_sparql(text: str) -> CheckedSparql:
    """Return a query that reads one server and nothing else.

    Raises QueryRefused for updates, SERVICE and escaped characters, QuerySyntaxError for what is
    not SPARQL, MissingExtra without the parser.
    """
    if len(text) > MOST_CHARACTERS:
        raise QueryRefused(
            f"The query has {len(text):,} characters; the limit is {MOST_CHARACTERS:,}."
        )
    if _END in text or (not text.isascii() and any(0xD800 <= ord(c) < 0xE000 for c in text)):
        raise QuerySyntaxError("The query has a null character or half a character.")
    if _ESCAPED_CODE.search(text):
        raise QueryRefused(
            "Characters written as \\u and \\U are refused, as they hide what is asked.",
            fix="Write the characters themselves.",
        )
    words = [found.group().upper() for found in _TOKEN.finditer(text) if found.lastgroup == "word"]
    form = next((word for word in words if word not in _BEFORE_FORM), "")
    if any("SERVICE" in word for word in words):  # a parser may read `trueSERVICE` as two words
        raise QueryRefused("`SERVICE` would let the server ask other servers.")
    if form not in FORMS:
        raise QueryRefused(
            f"`{form or text.strip()[:20]}` does not begin a query.",
            fix=f"Only queries that read are sent: {', '.join(FORMS)}.",
        )
    _parse(text)
    return CheckedSparql(text, form)


def _parse(text: str) -> None:
    with required("A SPARQL source", "rdf"):
        from pyoxigraph import Store
    whole = f"{text}\n{_END}"
    try:
        Store().query(whole)
    except SyntaxError as error:
        place = _PLACE.search(str(error))
        if place is not None and int(place[1]) == whole.count("\n") + 1:
            return
        raise QuerySyntaxError(f"The SPARQL query cannot be parsed: {error}.") from None
    raise QueryRefused("The end of the SPARQL query cannot be found.")
