"""Run one SQL query of a user under guards: what it may say, and how much it may take.

There are two independent guards. `check_sql` checks the words of a statement before SQLite prepares
it; the authorizer of `make_authorizer` allows only known tables and functions during preparation.
A query then runs under limits of time, memory, length of values and size of the result. SQLite has
no memory limit for a connection, so the memory of all connections of the process is compared with
that before the query, every few operations. In between, a query makes few values, and none is long:
statements that make values longer than those in the tables may only make short ones.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from math import prod
from sys import getsizeof

import apsw

from knotwork._query_memory import POOL, Reservation, result_too_large
from knotwork._sqlite_file import is_damage
from knotwork._stores.table_file import SQL_LIMITS
from knotwork.errors import QueryRefused, QuerySyntaxError, QueryTimeout, RetrievalError
from knotwork.records import PropertyValue, QueryResult

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


_MAX_GROWN_BYTES = 65_536
_OPERATIONS_BETWEEN_CHECKS = 500
_OPERATIONS_IF_GROWING = 100
_PROGRAM_IF_GROWING = 1_000
"""Most operations of a compiled statement; SQLite checks nothing until the first jump in it."""


class GuardedQuery:
    """A connection with limits, for one query over the tables ``known``."""

    def __init__(
        self, connection: apsw.Connection, known: Collection[str], *, timeout_s: float
    ) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._started_s = time.monotonic()
        self._refused: list[str] = []
        self._stopped: RetrievalError | None = None
        self._reservation = Reservation(POOL.ceilings.statement_bytes)
        self._used_before = apsw.memory_used()
        self._result_bytes = 0
        # What is sorted stays in memory, where it is counted, and cannot fill the disk.
        connection.pragma("temp_store", "memory")
        connection.authorizer = make_authorizer(known, self._refused)

    def run(
        self, query: CheckedQuery, parameters: Mapping[str, PropertyValue], *, row_limit: int
    ) -> QueryResult:
        """Run the query and return its rows, at most ``row_limit``.

        Raises as `TableFile.run`, and errors of SQLite that mean damage of the file.
        """
        connection, columns = self._connection, list[str]()
        long = any(isinstance(v, str) and len(v) > _MAX_GROWN_BYTES for v in parameters.values())
        grows = query.grows or long
        if grows:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_GROWN_BYTES)
            connection.limit(apsw.SQLITE_LIMIT_VDBE_OP, _PROGRAM_IF_GROWING)
            for name, count, work in _LINEAR_FUNCTIONS:
                connection.create_scalar_function(name, work, count, deterministic=True)
        connection.set_progress_handler(
            self._must_stop, _OPERATIONS_IF_GROWING if grows else _OPERATIONS_BETWEEN_CHECKS
        )
        rows: list[tuple[PropertyValue, ...]] = []
        truncated = False
        try:
            cursor = connection.cursor()
            cursor.exec_trace = partial(_note_columns, columns)
            for row in cursor.execute(query.text, parameters):
                if len(rows) >= row_limit:
                    truncated = True
                    break
                self._count(row)
                rows.append(tuple(row))
        except KeyError as error:
            raise QuerySyntaxError(
                f"The statement uses the parameter `{error.args[0]}`, which is not given."
            ) from error
        except UnicodeEncodeError as error:
            raise QuerySyntaxError(
                "The statement or a parameter contains half a character (a lone surrogate)."
            ) from error
        except apsw.Error as error:
            if is_damage(error):
                raise
            raise self._query_error(error, grows=grows) from error
        finally:
            self._reservation.close()
        return QueryResult(
            "sql",
            query.text,
            tuple(columns),
            tuple(rows),
            dict(parameters),
            truncated=truncated,
            seconds=time.monotonic() - self._started_s,
        )

    def _must_stop(self) -> bool:
        """Return True if the query has used up its time or memory; SQLite then interrupts it."""
        if time.monotonic() - self._started_s > self._timeout_s:
            self._stopped = QueryTimeout(f"The statement took longer than {self._timeout_s:g} s.")
        else:
            try:
                self._reserve()
            except QueryRefused as error:
                self._stopped = error
        return self._stopped is not None

    def _reserve(self) -> None:
        used = max(apsw.memory_used() - self._used_before, 0) + self._result_bytes
        if used > self._reservation.reserved:
            self._reservation.grow(used)

    def _count(self, row: Sequence[object]) -> None:
        self._result_bytes += 64 + sum(map(getsizeof, row))
        if self._result_bytes > POOL.ceilings.result_bytes:
            raise result_too_large(POOL.ceilings.result_bytes)
        self._reserve()

    def _query_error(self, error: apsw.Error, *, grows: bool) -> RetrievalError:
        if self._stopped is not None:
            return self._stopped
        if self._refused:
            return QueryRefused(f"The statement is refused: it would use {self._refused[0]}.")
        if isinstance(error, apsw.TooBigError):
            limit = _MAX_GROWN_BYTES if grows else SQL_LIMITS[apsw.SQLITE_LIMIT_LENGTH]
            return QueryRefused(
                f"The statement is refused: a value would have more than {limit:,} bytes.",
                fix="Select fewer or shorter values, as with substr().",
            )
        if isinstance(error, apsw.NoMemError):
            return QueryRefused(
                "The statement is refused: it is too long or needs too much memory."
            )
        if isinstance(error, apsw.ReadOnlyError | apsw.AuthError):
            return QueryRefused(f"The statement is refused: {error}.")
        return QuerySyntaxError(f"Invalid statement: {error}.")


def _note_columns(
    columns: list[str], cursor: apsw.Cursor, statement: str, bindings: object
) -> bool:
    del statement, bindings
    columns[:] = [str(item[0]) for item in cursor.get_description()]
    return True


def _trim(trim: Callable[[str, str], str], text: object, letters: object) -> str | None:
    if text is None or letters is None:
        return None
    return trim(_text(text), "".join(dict.fromkeys(_text(letters))))


def _instr(text: object, part: object) -> int | None:
    return None if text is None or part is None else _text(text).find(_text(part)) + 1


def _replace(text: object, old: object, new: object) -> str | None:
    if text is None or old is None or new is None:
        return None
    whole, part, other = _text(text), _text(old), _text(new)
    if not part:
        return whole
    if len(whole) + whole.count(part) * max(len(other) - len(part), 0) > _MAX_GROWN_BYTES:
        raise apsw.TooBigError
    return whole.replace(part, other)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_LINEAR_FUNCTIONS: tuple[tuple[str, int, Callable[..., object]], ...] = (
    ("instr", 2, _instr),
    ("ltrim", 2, partial(_trim, str.lstrip)),
    ("replace", 3, _replace),
    ("rtrim", 2, partial(_trim, str.rstrip)),
    ("trim", 2, partial(_trim, str.strip)),
)
"""Functions that compare each character with each one of another value in SQLite, but not here.

They take the place of those of SQLite if values may be long: (name, number of arguments, function).
"""
