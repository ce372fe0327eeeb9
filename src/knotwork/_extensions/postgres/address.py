"""Read the URL of an index on a PostgreSQL server, and say where it is without any secret.

``postgresql://user:password@host:5432/database?index=NAME&sslmode=verify-full`` is a URL of libpq
with one parameter more: ``index`` names the index, which is one schema of the database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from knotwork.errors import ConfigError

SCHEMES = ("postgresql", "postgres")
DEFAULT_INDEX = "knotwork"

_INDEX = "index"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")
_PLACE = ("host", "hostaddr", "port")
"""Parameters of libpq that say where a server is; all others are left out of the label."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is: the connection string of libpq, and the name of the schema.

    ``conninfo`` may hold a password. ``label`` holds neither user nor password.
    """

    conninfo: str
    schema: str
    label: str

    def __repr__(self) -> str:
        return f"Address({self.label!r})"


def read_address(url: str) -> Address:
    """Return the address that a URL names. Raises ConfigError, which never repeats the URL."""
    try:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _malformed() from None
    # An @ after the first slash is that of a password with a slash that is not escaped.
    if parts.scheme.lower() not in SCHEMES or parts.fragment or "@" in parts.path:
        raise _malformed()
    names = [value for key, value in given if key == _INDEX]
    name = names[-1] if names else DEFAULT_INDEX
    if not _NAME.fullmatch(name) or name.startswith("pg_"):
        raise ConfigError(
            f"`{name}` is not a valid name of an index in a database.",
            fix="Use up to 48 lower-case letters, digits and underscores, starting with a letter "
            "and not with pg_, as in postgresql://host/database?index=films.",
        )
    rest = [(key, value) for key, value in given if key != _INDEX]
    conninfo = urlunsplit(
        ("postgresql", parts.netloc, parts.path, urlencode(rest, quote_via=quote), "")
    )
    shown = [(key, value) for key, value in rest if key in _PLACE]
    query = urlencode([*shown, (_INDEX, name)], safe="/,", quote_via=quote)
    place = parts.netloc.rpartition("@")[2]
    label = f"postgresql://{place}{parts.path}?{query}"
    return Address(conninfo, name, label)


def _malformed() -> ConfigError:
    return ConfigError(
        "The URL of the PostgreSQL server cannot be read.",
        fix="Write it as postgresql://USER@HOST:PORT/DATABASE?index=NAME. Percent-encode special "
        "characters of a password, or leave it to PGPASSWORD or a password file.",
    )
