"""Guards that restrict SQL statements to one SELECT over known tables with known functions.

There are two independent guards. `check_sql` checks the words of a statement before SQLite prepares
it; the authorizer of `make_authorizer` allows only known tables and functions during preparation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

import apsw

from knotwork.errors import QueryRefused, QuerySyntaxError

_MAX_CHARACTERS = 20_000
_MAX_EXPANDED_NAMES = 1_000_000

_FUNCTION_NAMES = """
    abs avg cast ceil ceiling coalesce concat concat_ws count cume_dist date datetime dense_rank
    first_value floor format glob group_concat ifnull iif instr julianday lag last_value lead
    length like lower ltrim max min mod nth_value ntile nullif percent_rank pow power rank replace
    round row_number rtrim sign sqrt strftime string_agg substr substring sum time timediff total
    trim trunc typeof unicode unixepoch upper
"""
FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
"""Functions without side effects, whose results are not much larger than their arguments."""

_GROWING = frozenset({"concat", "concat_ws", "format", "group_concat", "replace", "string_agg"})
"""Functions whose result may be longer than any of their arguments."""
_FIRST = frozenset({"select", "with", "values"})
_FORBIDDEN_WORDS = """
    alter analyze attach begin commit create delete detach drop end_transaction insert pragma
    reindex release rollback savepoint update vacuum recursive
"""
_COMMON_WORDS = """
    all and as asc between by case cast collate cross desc distinct else end escape except exists
    from full glob group having in inner intersect is isnull join last left like limit materialized
    not notnull null nulls offset on or order outer over partition right rows then union using
    values when where window with
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Keywords that a statement may repeat."""
_FORBIDDEN = frozenset(_FORBIDDEN_WORDS.split())
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<text>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
    |(?P<word>[^\W\d]\w*)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A single query without its comments.

    ``grows`` is True if it may make values that are longer than those it reads.
    """

    text: str
    grows: bool


def check_sql(statement: str) -> CheckedQuery:
    """Return a statement, checked to be a single query.

    Raises QueryRefused for another kind of statement, for several and for one that is too long,
    QuerySyntaxError for an empty one and for an unclosed quotation.
    """
    if len(statement) > _MAX_CHARACTERS:
        raise QueryRefused(
            f"The statement has {len(statement)} characters; the limit is {_MAX_CHARACTERS}."
        )
    kept, words = _read_words(statement)
    if _expanded_names(statement) > _MAX_EXPANDED_NAMES:
        raise QueryRefused(
            "The statement is refused: its subqueries repeat the names of others too often.",
            fix="Name each column and each subquery only once in another subquery.",
        )
    if not words:
        raise QuerySyntaxError("The statement is empty.")
    if words[0] not in _FIRST:
        raise QueryRefused(f"`{words[0].upper()}` is refused: only SELECT can be run.")
    if forbidden := [word for word in words if word in _FORBIDDEN]:
        raise QueryRefused(
            f"`{forbidden[0].upper()}` is refused: only SELECT can be run.",
            fix='Put a column of that name in double quotes, as in "release".',
        )
    text = "".join(kept).strip()
    return CheckedQuery(text, "||" in text or not _GROWING.isdisjoint(words))


def _read_words(statement: str) -> tuple[list[str], list[str]]:
    """Return the parts of one statement without comments, and its bare words in lower case."""
    kept: list[str] = []
    words: list[str] = []
    ended = False
    for match in _TOKEN.finditer(statement):
        kind = match.lastgroup
        if kind == "space":
            kept.append(" ")
            continue
        if ended:
            raise QueryRefused("Only one statement can be run at a time.")
        if match[0] == ";":
            ended = True
            continue
        if kind == "other" and match[0] in "\0'\"`":
            raise QuerySyntaxError("The statement has a quotation mark without its closing one.")
        if kind == "word":
            words.append(match[0].lower())
        kept.append(match[0])
    return kept, words


def _expanded_names(statement: str) -> int:
    """Return how many names a statement has at most if all its subqueries are written out.

    SQLite copies a subquery for each name of it, and its columns likewise, so that a short
    statement can take gigabytes before it runs: the most frequent name of each SELECT multiplies.
    """
    selects: list[Counter[str]] = [Counter()]
    open_selects: list[Counter[str] | None] = [selects[0]]
    tokens = [match for match in _TOKEN.finditer(statement) if match.lastgroup != "space"]
    for token, following in zip_longest(tokens, tokens[1:]):
        text, after = token[0].lower(), following[0] if following else ""
        if text == "(":
            open_selects.append(None)
        elif text == ")" and len(open_selects) > 1:
            open_selects.pop()
        elif text == "select":
            if open_selects[-1] is None:
                selects.append(Counter())
                open_selects[-1] = selects[-1]
        elif (
            token.lastgroup in ("word", "name") and text not in _COMMON and after not in (".", "(")
        ):
            here = next(counts for counts in reversed(open_selects) if counts is not None)
            here[text.strip('"`[]')] += 1
    total = sum(counts.total() for counts in selects)
    return total * prod(max(counts.values(), default=1) for counts in selects)


def make_authorizer(
    tables: Collection[str], refused: list[str]
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return an SQLite authorizer that allows only reading these tables with `FUNCTIONS`.

    It appends a description of each refused operation to ``refused``.
    """
    known = {table.lower() for table in tables}

    def authorize(
        operation: int,
        first: str | None,
        second: str | None,
        database: str | None,
        trigger: str | None,
    ) -> int:
        del database, trigger
        if operation == apsw.SQLITE_SELECT:
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_READ:
            # SQLite reports no table name for a common table expression, only for its sources.
            if (first or "").lower() in known or not first:
                return apsw.SQLITE_OK
            refused.append(f"the table `{first}`")
        elif operation == apsw.SQLITE_FUNCTION:
            if (second or "").lower() in FUNCTIONS:
                return apsw.SQLITE_OK
            refused.append(f"the function `{second}`")
        else:
            refused.append("an operation other than reading")
        return apsw.SQLITE_DENY

    return authorize
