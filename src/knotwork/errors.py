"""The errors of Knotwork, one tree, so that one ``except KnotworkError`` catches them all::

    KnotworkError
    ├── ConfigError            a setting is missing, unknown or out of range
    │   ├── UnknownName        a name that is not registered; says which are
    │   └── MissingExtra       an optional dependency is absent; says which extra brings it
    ├── StoreError             the index file or server cannot do what was asked
    │   ├── StoreNotFound      there is no index at that place
    │   ├── StoreBusy          another process is writing (transient)
    │   ├── StoreReadOnly      a write was asked of a store opened for reading
    │   ├── SchemaMismatch     the index was written by another version or embedder
    │   └── DimensionMismatch  a vector has the wrong length
    ├── ModelError             an embedder or model server failed for good
    │   ├── ModelUnavailable   it may work when tried again (transient)
    │   ├── BudgetExceeded     the ceiling on tokens or money is reached
    │   └── Unparsable         a reply came, but is not what was asked for
    ├── IndexingError          a document cannot be indexed
    │   └── LoadError          a file cannot be read; its reason is the message
    ├── RetrievalError         a retriever cannot work on this index
    │   ├── FilterError        a filter cannot be read
    │   ├── QuerySyntaxError   a statement of a query language cannot be parsed
    │   ├── QueryRefused       a statement is not supported, or could do more than read
    │   └── QueryTimeout       a statement took longer than it was given
    ├── AnswerError            an answer cannot be composed
    └── ServiceError           a request to the server cannot be met
        ├── NotAuthenticated   no key came with it, or a wrong one
        ├── NotPermitted       its key may not do this
        ├── NotFound           there is nothing at its address that its key may see
        ├── NotAllowed         its address does not know its method
        ├── Conflict           what is there or under way stands against it
        ├── RequestTooLarge    it, or a part of it, is larger than is allowed
        ├── InvalidRequest     it is not formed as it must be
        ├── TooManyRequests    its key asks too often (transient)
        ├── Overloaded         too many others wait before it (transient)
        └── RequestTimeout     it took longer than a request may

A message says what is wrong, which value, which values are valid, and what to do. Every class has
an ``exit_code`` for the command line and an ``http_status`` for the service: the one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class KnotworkError(Exception):
    """Base of every error that Knotwork raises on purpose."""

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
    """Return an error as it was in another process, whatever its class is made from."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ConfigError(KnotworkError):
    """A setting is missing, unknown or out of range."""

    code = "config_error"
    exit_code = 2
    http_status = 400


class UnknownName(ConfigError):
    """A name was given that is not one of the valid ones.

    ``valid`` are all of them, or, where they are too many to list, ``nearest`` a few of them.
    ``place`` is where the name stands, such as " in knotwork.toml".
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
    ) -> None:
        from difflib import get_close_matches

        known, few = sorted(valid), list(nearest)
        by_letters = {item.casefold(): item for item in reversed(known or few)}
        near = get_close_matches(name.casefold(), by_letters, n=1, cutoff=0.6)
        hint = f"Did you mean `{by_letters[near[0]]}`?" if near else ""
        listed = ", ".join(f"`{item}`" for item in known or few)
        label = "Valid" if known else "Nearest"
        rest = f"{label}: {listed}." if listed else "No name is like it."
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


class StoreError(KnotworkError):
    """The index file or server cannot do what was asked."""

    code = "store_error"
    exit_code = 1
    http_status = 500


class StoreNotFound(StoreError):
    """There is no index at the place that was named."""

    code = "store_not_found"
    exit_code = 2
    http_status = 404


class StoreBusy(StoreError):
    """Another process is writing to this index; trying again later may work."""

    code = "store_busy"
    exit_code = 3
    http_status = 503


class StoreReadOnly(StoreError):
    """A write was asked of a store that was opened for reading."""

    code = "store_read_only"
    http_status = 409


class SchemaMismatch(StoreError):
    """The index was written by another version of Knotwork or with another embedder."""

    code = "schema_mismatch"
    exit_code = 2
    http_status = 409


class DimensionMismatch(StoreError):
    """A vector does not have the length that the index holds."""

    code = "dimension_mismatch"
    exit_code = 2
    http_status = 409


class ModelError(KnotworkError):
    """An embedder or a model server failed, and trying again will not help.

    ``status`` is the HTTP status that the server answered, or None where it answered none.
    """

    code = "model_error"
    http_status = 502

    def __init__(self, message: str, *, fix: str = "", status: int | None = None) -> None:
        super().__init__(message, fix=fix)
        self.status = status


class ModelUnavailable(ModelError):
    """An embedder or a model server failed in a way that may pass.

    ``retry_after_s`` is what the server asked for, or None.
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
    ) -> None:
        super().__init__(message, fix=fix, status=status)
        self.retry_after_s = retry_after_s


class BudgetExceeded(ModelError):
    """A call would have gone beyond the ceiling on tokens or money; nothing was sent."""

    code = "budget_exceeded"
    exit_code = 4
    http_status = 402


class Unparsable(ModelError):
    """A model's reply is not what was asked for; it is kept apart, and not used.

    ``reason`` is one short sentence for the list of such replies, ``text`` the reply. A reader of
    replies may leave ``text`` out: whoever asked fills it in.
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
    """A file cannot be read; the message is the reason shown to the user."""

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
    """A filter is not formed as it must be."""

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
    """A statement took longer than it was given."""

    code = "query_timeout"
    http_status = 504


class AnswerError(KnotworkError):
    """An answer cannot be composed."""

    code = "answer_error"


class ServiceError(KnotworkError):
    """A request to the server cannot be met. ``retry_after_s`` is when to try again, if ever."""

    code = "service_error"

    def __init__(self, message: str, *, fix: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, fix=fix)
        self.retry_after_s = retry_after_s


class NotAuthenticated(ServiceError):
    """No key came with the request, or one that is not known."""

    code = "not_authenticated"
    http_status = 401


class NotPermitted(ServiceError):
    """The key of the request may not do this."""

    code = "not_permitted"
    http_status = 403


class NotFound(ServiceError):
    """There is nothing at the address of the request that its key may see."""

    code = "not_found"
    http_status = 404


class NotAllowed(ServiceError):
    """The address of the request does not know its method."""

    code = "method_not_allowed"
    http_status = 405


class Conflict(ServiceError):
    """What is there, or under way, stands against the request."""

    code = "conflict"
    http_status = 409


class RequestTooLarge(ServiceError):
    """The request, or a part of it, is larger than is allowed."""

    code = "too_large"
    http_status = 413


class InvalidRequest(ServiceError):
    """The request is not formed as it must be."""

    code = "invalid_request"
    http_status = 422


class TooManyRequests(ServiceError):
    """The key of the request asks too often."""

    code = "too_many_requests"
    exit_code = 3
    http_status = 429


class Overloaded(ServiceError):
    """Too many requests wait, or the server is stopping."""

    code = "overloaded"
    exit_code = 3
    http_status = 503


class RequestTimeout(ServiceError):
    """The request took longer than one may."""

    code = "request_timeout"
    exit_code = 3
    http_status = 504
