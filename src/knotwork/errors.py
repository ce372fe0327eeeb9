"""The errors of Knotwork, in one tree.

``except KnotworkError`` catches all of them::

    KnotworkError
    ├── ConfigError            a setting is missing, unknown or out of range
    │   ├── UnknownName        a name is not registered; lists the valid names
    │   └── MissingExtra       an optional dependency is not installed; names the extra
    ├── StoreError             an operation on the index failed
    │   ├── StoreNotFound      the index does not exist
    │   ├── StoreBusy          another process is writing (transient)
    │   ├── StoreUnavailable   a database server cannot be reached (transient)
    │   ├── StoreReadOnly      a write to a store that was opened for reading
    │   ├── MissingCapability  the store lacks an optional part that the operation needs
    │   ├── IndexDamaged       a file of the index is damaged; says where
    │   ├── SchemaMismatch     the index was written by another version or embedder
    │   ├── DimensionMismatch  a vector has the wrong length
    │   └── IdCollision        two parts of documents have the same id
    ├── ModelError             an embedder or model server failed, and a retry will not help
    │   ├── ModelUnavailable   a retry may succeed (transient)
    │   ├── BudgetExceeded     the limit on tokens or money is reached
    │   └── Unparsable         a model's reply does not have the requested form
    ├── IndexingError          a document cannot be indexed
    │   └── LoadError          a file cannot be read
    ├── RetrievalError         a retriever cannot work on this index
    │   ├── FilterError        a filter is invalid
    │   ├── QuerySyntaxError   a statement of a query language cannot be parsed
    │   ├── QueryRefused       a statement is not supported, or could do more than read
    │   └── QueryTimeout       a statement exceeded its time limit
    ├── GraphServerError       a graph database or SPARQL server refused a request, or failed
    │   ├── GraphServerUnavailable  a retry may succeed (transient)
    │   └── MirrorOutdated     the mirror of the graph is not that of the index as it is now
    └── ServiceError           the server cannot serve a request
        ├── NotAuthenticated   the key is missing or unknown
        ├── NotPermitted       the key does not allow the operation
        ├── NotFound           the resource does not exist, or the key does not allow access
        ├── NotAllowed         the resource does not support the HTTP method
        ├── Conflict           the request conflicts with existing data or a running job
        ├── RequestTooLarge    the request, or a part of it, exceeds a size limit
        ├── InvalidRequest     the request is malformed
        ├── TooManyRequests    the key exceeded its request rate (transient)
        ├── Overloaded         too many requests are queued (transient)
        └── RequestTimeout     the request exceeded the time limit

A message says what is wrong, which value, which values are valid, and what to do. The ``exit_code``
of the command line and the ``http_status`` of the service are attributes of each class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

__all__ = [
    "BudgetExceeded",
    "ConfigError",
    "Conflict",
    "DimensionMismatch",
    "FilterError",
    "GraphServerError",
    "GraphServerUnavailable",
    "IdCollision",
    "IndexDamaged",
    "IndexingError",
    "InvalidRequest",
    "KnotworkError",
    "LoadError",
    "MirrorOutdated",
    "MissingCapability",
    "MissingExtra",
    "ModelError",
    "ModelUnavailable",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "NotPermitted",
    "Overloaded",
    "QueryRefused",
    "QuerySyntaxError",
    "QueryTimeout",
    "RequestTimeout",
    "RequestTooLarge",
    "RetrievalError",
    "SchemaMismatch",
    "ServiceError",
    "StoreBusy",
    "StoreError",
    "StoreNotFound",
    "StoreReadOnly",
    "StoreUnavailable",
    "TooManyRequests",
    "UnknownName",
    "Unparsable",
]


class KnotworkError(Exception):
    """Base class of all errors that Knotwork raises deliberately.

    ``fix`` says what to do about it; `str` appends it to the message.
    """

    code: ClassVar[str] = "knotwork_error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        ends = self.message.rstrip().endswith((".", "!", "?", ":", "。", "！", "？"))
        return f"{self.message}{'' if ends or not self.fix else '.'} {self.fix}".strip()


def _rebuild(
    kind: type[KnotworkError], args: tuple[object, ...], state: dict[str, object]
) -> KnotworkError:
    """Unpickle an error without calling its constructor, whose parameters differ by class."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ConfigError(KnotworkError):
    """A setting is missing, unknown or out of range."""

    code = "config_error"
    exit_code = 2
    http_status = 400


class UnknownName(ConfigError):
    """A name is not one of the valid names.

    The message lists all ``valid`` names, or only the ``nearest`` ones if there are too many.
    ``place`` follows the name in the message, as in " in knotwork.toml". ``fix`` is what to do if
    no name is similar.
    """

    code = "unknown_name"

    def __init__(
        self,
        kind: str,
        name: str,
        valid: Iterable[str] = (),
        *,
        nearest: Iterable[str] = (),
        place: str = "",
        fix: str = "",
    ) -> None:
        from difflib import get_close_matches

        known, few = sorted(valid), list(nearest)
        by_letters = {item.casefold().lstrip("-"): item for item in reversed(known or few)}
        near = get_close_matches(name.casefold().lstrip("-"), by_letters, n=1, cutoff=0.6)
        hint = f"Did you mean `{by_letters[near[0]]}`?" if near else fix
        listed = ", ".join(f"`{item}`" for item in known or few)
        label = "Valid" if known else "Nearest"
        rest = f"{label}: {listed}." if listed else "No similar name found."
        super().__init__(f"Unknown {kind} `{name}`{place}. {rest}", fix=hint)
        self.name = name
        self.valid = known or few


class MissingExtra(ConfigError):
    """An optional dependency is not installed."""

    code = "missing_extra"

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional extra `{extra}`, which is not installed.",
            fix=f"Install it with: pip install 'knotwork[{extra}]'",
        )
        self.extra = extra


@contextmanager
def required(feature: str, extra: str) -> Iterator[None]:
    """Raise MissingExtra if an import of another distribution fails in the block."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "knotwork":
            raise
        raise MissingExtra(feature, extra) from error


class StoreError(KnotworkError):
    """An operation on the index file or server failed."""

    code = "store_error"
    exit_code = 1
    http_status = 500


class StoreNotFound(StoreError):
    """The index does not exist."""

    code = "store_not_found"
    exit_code = 2
    http_status = 404


class StoreBusy(StoreError):
    """Another process is writing to this index; trying again later may work."""

    code = "store_busy"
    exit_code = 3
    http_status = 503


class StoreUnavailable(StoreError):
    """A database server cannot be reached, or the connection to it broke; a retry may succeed."""

    code = "store_unavailable"
    exit_code = 3
    http_status = 503


class StoreReadOnly(StoreError):
    """A write to a store that was opened for reading, or to a filtered index."""

    code = "store_read_only"
    http_status = 409


class MissingCapability(StoreError):
    """The store lacks an optional part that the operation needs; nothing was written."""

    code = "missing_capability"
    exit_code = 2
    http_status = 409

    def __init__(self, url: str, capability: str, *, fix: str = "") -> None:
        super().__init__(
            f"The store `{url}` does not support {capability}.",
            fix=fix or "Use an index file: it supports everything that Knotwork does.",
        )
        self.capability = capability


class IndexDamaged(StoreError):
    """A file of the index is damaged, and an answer from it could be wrong.

    ``path`` is the file. ``place`` says which parts and documents are damaged; "" if unknown.
    """

    code = "index_damaged"

    def __init__(self, message: str, *, path: str = "", place: str = "", fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.path = path
        self.place = place


class SchemaMismatch(StoreError):
    """The index was written by another version of Knotwork or with another embedder."""

    code = "schema_mismatch"
    exit_code = 2
    http_status = 409


class DimensionMismatch(StoreError):
    """A vector does not have the dimension of the index."""

    code = "dimension_mismatch"
    exit_code = 2
    http_status = 409


class IdCollision(StoreError):
    """Two things with different names have the same id, as a hash of each; nothing was merged.

    ``identifier`` is the id. ``held`` describes what has it in the index, ``new`` what was to be
    added. The transaction is to be rolled back.
    """

    code = "id_collision"
    http_status = 409

    def __init__(self, identifier: str, held: str, new: str) -> None:
        super().__init__(
            f"The id {identifier} of {new} is also that of {held}.",
            fix="Rename or move the file, so that its parts get other ids. If two entities or "
            "relations collide, index the document in an index of its own.",
        )
        self.identifier = identifier
        self.held = held
        self.new = new


class ModelError(KnotworkError):
    """An embedder or a model server failed, and a retry will not help.

    ``status`` is the HTTP status of the response, or None without a response.
    """

    code = "model_error"
    http_status = 502

    def __init__(self, message: str, *, fix: str = "", status: int | None = None) -> None:
        super().__init__(message, fix=fix)
        self.status = status


class ModelUnavailable(ModelError):
    """An embedder or a model server failed temporarily.

    ``retry_after_s`` is the delay that the server requested, or None. ``timed_out`` is True if the
    server was silent for too long. ``is_final`` is True if a retry would fail in the same way.
    """

    code = "model_unavailable"
    exit_code = 3
    http_status = 503

    def __init__(
        self,
        message: str,
        *,
        fix: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        timed_out: bool = False,
    ) -> None:
        super().__init__(message, fix=fix, status=status)
        self.retry_after_s = retry_after_s
        self.timed_out = timed_out
        self.is_final = False


class BudgetExceeded(ModelError):
    """A call would exceed the limit on tokens or money; it was not sent."""

    code = "budget_exceeded"
    exit_code = 4
    http_status = 402


class Unparsable(ModelError):
    """A model's reply does not have the requested form; it is quarantined and not used.

    ``reason`` is a short sentence for the list of quarantined replies, ``text`` the reply. A parser
    may leave ``text`` empty; its caller then sets it.
    """

    code = "unparsable_reply"

    def __init__(self, reason: str, *, text: str = "", fix: str = "") -> None:
        super().__init__(reason, fix=fix)
        self.reason = reason
        self.text = text


class IndexingError(KnotworkError):
    """A document cannot be indexed."""

    code = "indexing_error"
    http_status = 422


class LoadError(IndexingError):
    """A file cannot be read.

    ``reason`` is a code by which reports group such files. Loaders use "binary", "broken", "empty",
    "encoding", "no_text", "password", "too_large" and "unsupported". The message names the file.
    """

    code = "load_error"
    http_status = 422

    def __init__(self, reason: str, message: str, *, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.reason = reason


class RetrievalError(KnotworkError):
    """A retriever cannot work on this index."""

    code = "retrieval_error"
    http_status = 409


class FilterError(RetrievalError):
    """A filter is invalid."""

    code = "filter_error"
    exit_code = 2
    http_status = 400


class QuerySyntaxError(RetrievalError):
    """A statement of a query language cannot be parsed."""

    code = "query_syntax_error"
    exit_code = 2
    http_status = 400


class QueryRefused(RetrievalError):
    """A statement is not supported, or could do more than read this graph."""

    code = "query_refused"
    exit_code = 2
    http_status = 400


class QueryTimeout(RetrievalError):
    """A statement exceeded its time limit."""

    code = "query_timeout"
    http_status = 504


class GraphServerError(KnotworkError):
    """A graph database or SPARQL server refused a request, or failed, and a retry will not help."""

    code = "graph_server_error"
    http_status = 502


class GraphServerUnavailable(GraphServerError):
    """A graph database or SPARQL server cannot be reached now; trying again later may work."""

    code = "graph_server_unavailable"
    exit_code = 3
    http_status = 503


class MirrorOutdated(GraphServerError):
    """The mirror of the graph is unfinished, missing, or of an earlier state of the index."""

    code = "mirror_outdated"
    exit_code = 2
    http_status = 409


class ServiceError(KnotworkError):
    """The server cannot serve a request. ``retry_after_s`` is None if a retry will not help."""

    code = "service_error"

    def __init__(self, message: str, *, fix: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, fix=fix)
        self.retry_after_s = retry_after_s


class NotAuthenticated(ServiceError):
    """The key of the request is missing or unknown."""

    code = "not_authenticated"
    http_status = 401


class NotPermitted(ServiceError):
    """The key of the request does not allow the operation."""

    code = "not_permitted"
    http_status = 403


class NotFound(ServiceError):
    """The requested resource does not exist, or its key does not allow access to it."""

    code = "not_found"
    http_status = 404


class NotAllowed(ServiceError):
    """The requested resource does not support the HTTP method."""

    code = "method_not_allowed"
    http_status = 405


class Conflict(ServiceError):
    """The request conflicts with existing data or with a running job."""

    code = "conflict"
    http_status = 409


class RequestTooLarge(ServiceError):
    """The request, or a part of it, exceeds a size limit."""

    code = "too_large"
    http_status = 413


class InvalidRequest(ServiceError):
    """The request is malformed. ``field`` names the field of its body that is wrong, if one is."""

    code = "invalid_request"
    http_status = 422

    def __init__(self, message: str, *, fix: str = "", field: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.field = field


class TooManyRequests(ServiceError):
    """The key of the request exceeded its request rate."""

    code = "too_many_requests"
    exit_code = 3
    http_status = 429


class Overloaded(ServiceError):
    """Too many requests are queued, or the server is shutting down."""

    code = "overloaded"
    exit_code = 3
    http_status = 503


class RequestTimeout(ServiceError):
    """The request exceeded the time limit."""

    code = "request_timeout"
    exit_code = 3
    http_status = 504
