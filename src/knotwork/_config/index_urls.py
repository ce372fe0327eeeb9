"""Show where an index is without the user and the password that its URL may hold."""

from __future__ import annotations

import re

_SERVER = re.compile(r"(?!file:|memory:)([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)


def is_server_url(url: str) -> bool:
    """Return True if an index is on a server, and not a file or in memory."""
    return _SERVER.fullmatch(url) is not None


def shown_url(url: str) -> str:
    """Return the path or URL of an index as messages and names of files may have it.

    Of a server's URL, scheme, host, port, path and the name of the index are left.
    """
    found = _SERVER.fullmatch(url)
    if found is None:
        return url
    scheme, rest = found.groups()
    address, _, query = rest.partition("#")[0].partition("?")
    authority, slash, path = address.partition("/")
    host = authority.rpartition("@")[2]
    if "@" in path:  # an unescaped slash in a password
        host, path = "", path.rpartition("@")[2].partition("/")[2]
    named = [part for part in query.split("&") if part.startswith("index=")]
    return f"{scheme}://{host}{slash}{path}{''.join(f'?{part}' for part in named[-1:])}"
