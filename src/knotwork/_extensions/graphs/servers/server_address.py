"""Addresses of graph servers: a URL without secrets, and the credentials beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from knotwork._config import SecretRef
from knotwork.errors import ConfigError

BOLT_SCHEMES = frozenset(
    {"bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"},
)
SPARQL_SCHEMES = {"sparql+http": "http", "sparql+https": "https"}
_NAME = re.compile(r"[A-Za-z][\w.-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a graph server.

    ``url`` has the user, if there is one, but never a password, so that it can be shown and stored.
    ``password`` is what the URL had, or what ``secret`` reveals; neither is part of `repr`.
    """

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    secret: SecretRef | None = None

    @property
    def scheme(self) -> str:
        """The scheme of the URL, in lower case."""
        return urlsplit(self.url).scheme

    @property
    def is_sparql(self) -> bool:
        """True for a server that speaks SPARQL, False for one that speaks Bolt."""
        return self.scheme in SPARQL_SCHEMES

    @property
    def endpoint(self) -> str:
        """The URL that a driver connects to: without user, and for Bolt without database."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        if self.is_sparql:
            scheme = SPARQL_SCHEMES[parts.scheme]
            return urlunsplit((scheme, host, parts.path, parts.query, ""))
        return f"{parts.scheme}://{host}"

    @property
    def database(self) -> str:
        """The name of the database that a Bolt URL has as its path; "" is that of the user."""
        return "" if self.is_sparql else unquote(urlsplit(self.url).path.strip("/"))

    def credentials(self) -> tuple[str, str] | None:
        """Return user and password, or None for a server without a login.

        Raises ConfigError if the variable with the password is not set.
        """
        if not self.user:
            return None
        if self.password or self.secret is None:
            return self.user, self.password
        return self.user, self.secret.reveal()

    def with_secret(self, secret: SecretRef | None) -> ServerAddress:
        """Return the address with the variable that has its password."""
        return replace(self, secret=secret)


def read_address(url: str) -> ServerAddress:
    """Return the address that a URL names, with its password apart.

    Raises ConfigError for a URL of another kind; the message never has the password.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _invalid_address("The URL of the graph server cannot be parsed") from None
    scheme = parts.scheme.lower()
    if scheme not in BOLT_SCHEMES and scheme not in SPARQL_SCHEMES:
        shown = f"`{scheme}`" if scheme else "missing"
        raise _invalid_address(f"The scheme of the URL of the graph server is {shown}")
    if not host:
        raise _invalid_address("The URL of the graph server has no host")
    is_bolt = scheme in BOLT_SCHEMES
    if is_bolt and (parts.query or parts.fragment or parts.path.strip("/").count("/")):
        raise _invalid_address("The URL of the graph server has more than host and database")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    shown_host = f"[{host}]" if ":" in host else host
    place = f"{shown_host}:{port}" if port else shown_host
    login = (parts.username or "") + "@" if user else ""
    cleaned = SplitResult(scheme, login + place, parts.path.rstrip("/"), parts.query, "")
    return ServerAddress(urlunsplit(cleaned), user, password)


def check_connection_name(name: str) -> str:
    """Return the name of a connection. Raises ConfigError for one that is not an identifier."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"`{name}` is not a name for a connection.",
            fix="Begin with a letter; then letters, digits, `_`, `-` and `.` follow, at most 64.",
        )
    return name


def password_variable(name: str) -> str:
    """Return the environment variable that has the password of a connection by default."""
    return re.sub(r"\W", "_", name).upper() + "_PASSWORD"


def _invalid_address(problem: str) -> ConfigError:
    return ConfigError(
        f"{problem}.",
        fix="Write bolt://USER@HOST:7687/DATABASE (also bolt+s, bolt+ssc, neo4j, neo4j+s), or"
        " sparql+http://HOST:PORT/PATH (also sparql+https).",
    )
