"""Ask a SPARQL 1.1 server over HTTP, with limits of time, rows and bytes.

Only queries are sent, as the parameter `query` of a POST, which the protocol keeps apart from
`update`. Redirects are not followed, so that a login never reaches another server.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from itertools import islice
from typing import Any
from urllib.parse import urlencode, urlsplit

from knotwork._cancellation import check_cancelled, run_apart
from knotwork._extensions.graphs.servers.server_address import ServerAddress
from knotwork._query_memory import POOL, result_too_large
from knotwork.errors import (
    GraphServerError,
    GraphServerUnavailable,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    required,
)
from knotwork.records import PropertyValue, QueryResult

_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = frozenset(
    _XSD + name
    for name in [
        "integer", "int", "long", "short", "byte", "nonNegativeInteger", "nonPositiveInteger",
        "negativeInteger", "positiveInteger", "unsignedInt", "unsignedLong", "unsignedShort",
        "unsignedByte",
    ]
)  # fmt: skip
_NUMBERS = frozenset(_XSD + name for name in ("decimal", "double", "float"))
_JSON, _TRIPLES = "application/sparql-results+json", "application/n-triples"
_TRIPLE_COLUMNS = ("subject", "predicate", "object")
_READ_AT_ONCE = 65_536
_SHOWN_REPLY = 300
_BAD_REQUEST, _LOGIN, _FORBIDDEN, _SERVER = 400, 401, 403, 500


class SparqlEndpoint:
    """The query endpoint of one server. Each query has a connection of its own."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address

    @property
    def url(self) -> str:
        """The URL of the endpoint, without a password."""
        return self.address.url

    def query(self, text: str, *, row_limit: int, timeout_s: float) -> QueryResult:
        """Run a query and return its rows: solutions, one truth value, or triples.

        Raises QueryRefused and QuerySyntaxError before anything is sent; QueryTimeout,
        QueryRefused for a result that is too large, and GraphServerError.
        """
        wanted = _JSON if check_sparql(text) in (SELECT, ASK) else _TRIPLES
        started_s = time.monotonic()
        body = run_apart(lambda: self._ask(text, wanted, started_s + timeout_s, timeout_s))
        columns, rows = _read_json(body) if wanted is _JSON else _read_triples(body)
        found = tuple(islice(rows, max(row_limit, 0) + 1))
        return QueryResult(
            language="sparql",
            statement=text,
            columns=columns,
            rows=found[: max(row_limit, 0)],
            truncated=len(found) > max(row_limit, 0),
            seconds=time.monotonic() - started_s,
        )

    def close(self) -> None:
        """Do nothing, as no connection stays open."""

    def _ask(self, text: str, wanted: str, deadline_s: float, timeout_s: float) -> bytes:
        parts = urlsplit(self.address.endpoint)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {
            "Accept": wanted,
            "Accept-Encoding": "identity",
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "knotwork",
            **self._login(),
        }
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.netloc, timeout=timeout_s)
        try:
            connection.request("POST", target, urlencode({"query": text}), headers)
            _set_timeout(connection, deadline_s)
            response = connection.getresponse()
            body = _read(connection, response, deadline_s)
        except TimeoutError:
            raise QueryTimeout(
                f"The server {self.url} did not answer within {timeout_s:g} s.",
                fix="Narrow the query, or raise the time limit.",
            ) from None
        except (OSError, HTTPException) as error:
            raise GraphServerUnavailable(
                f"The server {self.url} cannot be reached: {error or type(error).__name__}.",
                fix="Check that it runs, its port and path, and whether it needs sparql+https.",
            ) from None
        finally:
            connection.close()
        self._check_status(response, body)
        return body

    def _login(self) -> Mapping[str, str]:
        credentials = self.address.credentials()
        if credentials is None:
            return {}
        packed = base64.b64encode(":".join(credentials).encode()).decode()
        return {"Authorization": f"Basic {packed}"}

    def _check_status(self, response: HTTPResponse, body: bytes) -> None:
        status = response.status
        if 200 <= status < 300:
            return
        said = " ".join(body[: 4 * _SHOWN_REPLY].decode("utf-8", "replace").split())[:_SHOWN_REPLY]
        if status == _BAD_REQUEST:
            raise QuerySyntaxError(f"The server {self.url} cannot run the query: {said}")
        if status in (_LOGIN, _FORBIDDEN):
            raise GraphServerError(
                f"The server {self.url} did not accept the login (HTTP {status}).",
                fix="Check the user in the URL, and the variable with the password.",
            )
        kind = GraphServerUnavailable if status >= _SERVER else GraphServerError
        raise kind(f"The server {self.url} answered HTTP {status}: {said}")


def _set_timeout(connection: HTTPConnection, deadline_s: float) -> None:
    """Let the next wait end at the deadline. Raises TimeoutError after it."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    if connection.sock is not None:
        connection.sock.settimeout(left_s)


def _read(connection: HTTPConnection, response: HTTPResponse, deadline_s: float) -> bytes:
    """Return the body of a response. Raises QueryRefused if it is too large, TimeoutError."""
    most, parts, size = POOL.ceilings.result_bytes, list[bytes](), 0
    while True:
        check_cancelled()
        _set_timeout(connection, deadline_s)
        part = response.read1(_READ_AT_ONCE)
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > most:
            raise result_too_large(most)
        parts.append(part)


def _read_json(body: bytes) -> tuple[tuple[str, ...], Iterator[tuple[PropertyValue, ...]]]:
    """Return columns and rows of SPARQL 1.1 results in JSON."""
    try:
        data = json.loads(body)
        if "boolean" in data:
            return ("answer",), iter([(bool(data["boolean"]),)])
        columns = tuple(str(name) for name in data["head"].get("vars", ()))
        bindings = [dict[str, Any](item.items()) for item in data["results"]["bindings"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise GraphServerError("The server did not answer with SPARQL results in JSON.") from None
    return columns, (tuple(_plain(item.get(name)) for name in columns) for item in bindings)


def _plain(term: Any) -> PropertyValue:  # noqa: ANN401 - of JSON
    """Return a term as a number, a truth value or text; None for a variable without a value."""
    if not isinstance(term, Mapping):
        return None
    kind, value = term.get("type"), term.get("value")
    if kind == "triple" and isinstance(value, Mapping):
        return [_plain(value.get(name)) for name in _TRIPLE_COLUMNS]
    text = str(value)
    return f"_:{text}" if kind == "bnode" else _typed(text, str(term.get("datatype", "")))


def _typed(text: str, datatype: str) -> PropertyValue:
    try:
        if datatype in _INTEGERS and len(text) < _SHOWN_REPLY:
            return int(text)
        if datatype in _NUMBERS:
            return float(text)
    except ValueError:
        return text
    if datatype == _XSD + "boolean" and text in ("true", "false", "1", "0"):
        return text in ("true", "1")
    return text


def _read_triples(body: bytes) -> tuple[tuple[str, ...], Iterator[tuple[PropertyValue, ...]]]:
    """Return the triples of a graph as rows."""
    from pyoxigraph import RdfFormat, parse

    try:
        quads = list(parse(body, format=RdfFormat.N_TRIPLES))
    except (SyntaxError, ValueError):
        raise GraphServerError("The server did not answer with triples as N-Triples.") from None
    return _TRIPLE_COLUMNS, (
        tuple(map(_plain_term, (quad.subject, quad.predicate, quad.object))) for quad in quads
    )


def _plain_term(term: Any) -> PropertyValue:  # noqa: ANN401 - of the parser
    from pyoxigraph import BlankNode, Literal, NamedNode

    if isinstance(term, Literal):
        return _typed(term.value, term.datatype.value)
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    return term.value if isinstance(term, NamedNode) else str(term)


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


def check_sparql(text: str) -> str:
    """Return the form of a query, one of `FORMS`, that reads one server and nothing else.

    The grammar of pyoxigraph (extra `rdf`) decides: an update never begins as a query does. It
    parses without running anything, as what is parsed ends in a character that no query has: the
    error must be there and not before. What the grammar allows beyond one server, SERVICE, is found
    among the tokens.

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
    with required("A SPARQL source", "rdf"):
        from pyoxigraph import Store
    whole = f"{text}\n{_END}"
    try:
        Store().query(whole)
    except SyntaxError as error:
        place = _PLACE.search(str(error))
        if place is not None and int(place[1]) == whole.count("\n") + 1:
            return form
        raise QuerySyntaxError(f"The SPARQL query cannot be parsed: {error}.") from None
    raise QueryRefused("The end of the SPARQL query cannot be found.")
