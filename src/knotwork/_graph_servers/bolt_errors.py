"""Turn the errors of the Bolt driver into ours; no message has a password."""

from __future__ import annotations

from knotwork._graph_servers.server_address import ServerAddress
from knotwork.errors import (
    GraphServerError,
    GraphServerUnavailable,
    KnotworkError,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
)

_LONGEST = 500


def explain_error(error: Exception, address: ServerAddress) -> Exception:
    """Return our error for one of the driver or of the network, and any other as it is."""
    from neo4j import exceptions as driver

    place, words = address.url, _words(error, address)
    if not isinstance(error, driver.Neo4jError | driver.DriverError | OSError):
        return error
    if isinstance(error, driver.AuthError):
        return GraphServerError(
            f"The server {place} did not accept the login: {words}.",
            fix="Check the user in the URL, and the variable with the password.",
        )
    if isinstance(error, driver.CypherSyntaxError):
        return QuerySyntaxError(f"The server {place} cannot parse the statement: {words}.")
    if isinstance(error, driver.Neo4jError):
        return _explain_reply(error, place, words)
    if isinstance(error, driver.ConfigurationError):
        return GraphServerError(f"The connection to {place} cannot be set up: {words}.")
    return GraphServerUnavailable(
        f"The server {place} cannot be reached: {words}.",
        fix="Check that it runs, its port, and whether it requires encryption (bolt+s).",
    )


def _explain_reply(error: Exception, place: str, words: str) -> KnotworkError:
    from neo4j import exceptions as driver

    assert isinstance(error, driver.Neo4jError)
    code = error.code or ""
    if "TimedOut" in code or "timeout" in words.lower():
        return QueryTimeout(
            f"The server {place} ended the statement at its time limit: {words}.",
            fix="Narrow the statement, or raise the time limit.",
        )
    if error.is_retryable():
        return GraphServerUnavailable(f"The server {place} is busy: {words}.", fix="Try again.")
    if isinstance(error, driver.Forbidden) or "AccessMode" in code:
        return QueryRefused(f"The server {place} refused the statement: {words}.")
    if ".Statement." in code:
        return QuerySyntaxError(f"The server {place} cannot run the statement: {words}.")
    return GraphServerError(f"The server {place} failed: {words}.")


def _words(error: Exception, address: ServerAddress) -> str:
    """Return the message of an error on one line, shortened, without the password."""
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    line = " ".join(str(text).split()).rstrip(".")
    credentials = (address.password,) if address.password else ()
    for secret in credentials:
        line = line.replace(secret, "…")
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
