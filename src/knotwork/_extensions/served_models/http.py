"""Send requests to model servers over HTTP, with the errors of `knotwork.errors`.

Nothing is repeated here: `call_limits.py` does that.
"""

from __future__ import annotations

import importlib.util
import json
import re
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict
from urllib.parse import urlsplit

from knotwork._cancellation import run_apart
from knotwork._config import SecretRef
from knotwork._inference.call_limits import seconds_until
from knotwork.errors import ConfigError, MissingExtra, ModelError, ModelUnavailable

if TYPE_CHECKING:
    import httpx2


_LONGEST_CONNECT_S = 10.0
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_MOST_CONNECTIONS = 1_000
_FIXES = {
    401: 'Check the key, or name the variable that holds it: SECTION.api_key = { env = "NAME" }',
    402: "Top up the account at the server.",
    403: "Check that the key of SECTION.api_key may use this model.",
    404: "Check the model's name and SECTION.base_url, which usually ends in /v1.",
    413: "Lower index.chunk_tokens, or serve the model with a longer context.",
}
_BUSY_FIXES = {
    "llm": "Lower llm.concurrency, or set llm.requests_per_minute and llm.tokens_per_minute.",
    "embedding": "Lower embedding.concurrency.",
    "rerank": "Try again later, or rerank fewer passages: rerank(depth=10).",
}
_SLOW_FIXES = {
    "llm": "Raise llm.timeout_s, or lower llm.concurrency.",
    "embedding": "Raise embedding.timeout_s.",
    "rerank": "Raise rerank.timeout_s.",
}
_FAULT_FIX = "Try again later, or check the log of the server."
TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_UNSUPPORTED_INPUT = re.compile(
    r"\b(?:images?|vision|multi-?modal)\b.{0,60}\b(?:not support|unsupported)", re.IGNORECASE
)
"""What llama.cpp says of pictures for a model that does not see, with a status of 500."""
_STATED_SIZES = ("n_prompt_tokens", "n_ctx")
"""Sizes that llama.cpp states beside the message of an error."""
_SHOWN_CHARACTERS = 300
_WHOLE_BODIES = ("application/json", "text/html")
"""Types of responses that are not streams: of a server that does not stream, or of a gateway."""


class Key(Protocol):
    """A secret that is read when it is needed."""

    def reveal(self) -> str:
        """Return the secret."""


class Refusal(ModelError):
    """The server refused this request; ``server_code`` is its error code, or ""."""

    def __init__(self, message: str, *, status: int, server_code: str, fix: str = "") -> None:
        super().__init__(message, fix=fix, status=status)
        self.server_code = server_code


HeaderListener = Callable[[int, Mapping[str, str]], None]
"""Gets the status and the headers of a response, whose names match in any case."""


class ServerOptions(TypedDict, total=False):
    """The options of a `ModelServer` besides its URL."""

    api_key: SecretRef | None
    timeout_s: float
    section: Literal["llm", "embedding", "rerank"]
    extra_headers: Mapping[str, str | SecretRef] | None
    api_version: str


class ModelServer:
    """A server with an OpenAI-compatible API under ``base_url``.

    ``extra_headers`` are sent with each request, secrets among them revealed on first use. With an
    ``api_version`` requests are those of a deployment on Azure: the version is part of the URL, and
    the key is sent as ``api-key``.
    ``timeout_s`` is the longest silence of the server, not the length of a call. Redirects are not
    followed, since another host would receive the key. ``section`` is the section of the settings
    that errors refer to. Raises ConfigError if the URL is invalid, MissingExtra without httpx2,
    which is imported, and the key read, on first use.
    """

    chat_path = "/chat/completions"
    takes_batches = True
    """Whether requests may be sent by the batch API of OpenAI."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: SecretRef | None,
        timeout_s: float,
        section: Literal["llm", "embedding", "rerank"] = "llm",
        extra_headers: Mapping[str, str | SecretRef] | None = None,
        api_version: str = "",
    ) -> None:
        _check_url(base_url, section)
        if importlib.util.find_spec("httpx2") is None:
            raise MissingExtra("A model on a server", "llm")
        self.base_url = base_url.rstrip("/")
        self.section = section
        self._api_key: Key | None = api_key
        self._timeout_s = timeout_s
        self._extra_headers = dict(extra_headers or {})
        self._api_version = api_version
        self._listeners: list[HeaderListener] = []
        self._secrets: tuple[str, ...] = ()
        self._opened: httpx2.Client | None = None
        self._lock = threading.Lock()

    def stream_chat(self, payload: Mapping[str, object]) -> Generator[dict[str, Any]]:
        """Yield the events of a reply in the form of OpenAI, as `stream`, to a request in it."""
        return self.stream(self.chat_path, payload)

    def complete_chat(self, payload: Mapping[str, object]) -> dict[str, Any]:
        """Return a reply in the form of OpenAI, as `post`, to a request in it."""
        return self.post(self.chat_path, payload)

    def post(self, path: str, payload: Mapping[str, object]) -> dict[str, Any]:
        """Send JSON and return the JSON object of the response.

        Raises as `exchange`, and ModelUnavailable if the response is not an object.
        """
        return self._object(self.exchange(path, payload), path)

    def exchange(self, path: str, payload: Mapping[str, object]) -> object:
        """Send JSON and return the JSON of the response.

        Raises ModelUnavailable for temporary failures (no connection, time-out, 429, 5xx, an
        invalid response), Refusal for all others, and ConfigError if the key is not set. No error
        contains the key.
        """
        return self._parse(self._send("POST", path, json=payload), path)

    def get(self, path: str) -> dict[str, Any]:
        """Return the JSON object under ``path``; raises as `post` does."""
        return self._object(self._parse(self._send("GET", path), path), path)

    def list_models(self) -> list[dict[str, Any]]:
        """Return what the server lists of its models; raises as `post` does."""
        listed = self.get("/models").get("data")
        items = listed if isinstance(listed, list) else []
        return [item for item in items if isinstance(item, dict)]

    def text(self, path: str) -> str:
        """Return the text under ``path``, such as the content of a file; raises as `post` does."""
        return self._send("GET", path)

    def upload(self, path: str, name: str, content: bytes, **fields: str) -> dict[str, Any]:
        """Send a file with form ``fields`` and return the JSON object of the response.

        Raises as `post`.
        """
        files = {"file": (name, content, "application/jsonl")}
        body = self._send("POST", path, data=fields, files=files)
        return self._object(self._parse(body, path), path)

    def _send(self, method: str, path: str, **content: Any) -> str:  # noqa: ANN401  of httpx2
        """Send a request, and return the body of its response; raises as `exchange`."""
        client = self._client()

        def send() -> str:
            response = client.request(method, self.base_url + path, **content)
            self._check_status(response, path)
            return response.text

        with self._translated_errors(path):
            return run_apart(send)

    def stream(
        self, path: str, payload: Mapping[str, object], *, lines: bool = False
    ) -> Generator[dict[str, Any]]:
        """Send JSON and yield the JSON object of each event of the response; raises as `post`.

        With ``lines``, each line of the response is an object, not an event of server-sent events.
        The connection is closed when the iteration ends for any reason.
        """
        client = self._client()
        with (
            self._translated_errors(path),
            client.stream("POST", self.base_url + path, json=payload) as response,
        ):
            self._check_status(response, path)
            if response.headers.get("Content-Type", "").startswith(_WHOLE_BODIES):
                body = response.read().decode("utf-8", "replace")  # a server that does not stream
                yield self._object(self._parse(body, path), path)
                return
            for event in _read_events(response.iter_bytes(), lines=lines):
                piece = json.loads(event)
                if isinstance(piece, dict):
                    self._check_error(piece, path)
                    yield piece

    def _check_status(self, response: httpx2.Response, path: str) -> None:
        """Notify the listeners of a response. Raises its error unless it is a success."""
        for listener in self._listeners:
            listener(response.status_code, response.headers)
        if response.is_success:
            return
        response.read()
        body: object = response.text
        with suppress(ValueError, RecursionError):
            body = json.loads(response.text)
        raise self.refuse(path, response.status_code, body, response.headers)

    def listen(self, listener: HeaderListener) -> None:
        """Call ``listener`` with the status and headers of every response from now on."""
        self._listeners.append(listener)

    def _mask(self, text: str) -> str:
        """Return ``text`` on one line, shortened, with the key and other secrets masked."""
        text = " ".join(text.split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"

    def _client(self) -> httpx2.Client:
        opened = self._opened
        if opened is not None:
            return opened
        with self._lock:
            if self._opened is None:
                self._opened = self._open()  # last, since others read it without the lock
            return self._opened

    def _open(self) -> httpx2.Client:
        from httpx2 import Client, Headers, Limits, Timeout

        key = self._api_key.reveal() if self._api_key else ""
        headers = Headers()
        secrets = [key]
        if key and self._api_version:
            headers["api-key"] = key
        elif key:
            headers["Authorization"] = f"Bearer {key}"
        for name, own in self._extra_headers.items():
            headers[name] = own.reveal() if isinstance(own, SecretRef) else own
            secrets += [headers[name]] if isinstance(own, SecretRef) else []
        self._secrets = tuple(filter(None, secrets))
        connect_s = min(self._timeout_s, _LONGEST_CONNECT_S)
        client = Client(
            headers=headers,
            params={"api-version": self._api_version} if self._api_version else None,
            timeout=Timeout(self._timeout_s, connect=connect_s, pool=None),
            limits=Limits(max_connections=_MOST_CONNECTIONS),
        )
        # Connections stay open for later calls, until this object is collected.
        weakref.finalize(self, client.close)
        return client

    def _move(self, base_url: str, *, api_key: Key) -> None:
        """Use the server at another address from the next call on."""
        with self._lock:
            self.base_url = base_url
            self._api_key = api_key
            self._opened = None

    def _unreachable(self, url: str, reason: str) -> ModelUnavailable:
        """Return the error for a server to which no connection can be made, or that lost it."""
        return ModelUnavailable(
            f"Cannot connect to `{url}`: {reason}.",
            fix=f"Check {self.section}.base_url, and that the server is running.",
        )

    def _parse(self, body: str, path: str) -> object:
        try:
            answer: object = json.loads(body)
        except (ValueError, RecursionError):
            answer = self._object(body, path)  # raises
        if isinstance(answer, dict):
            self._check_error(answer, path)
        return answer

    def _object(self, answer: object, path: str) -> dict[str, Any]:
        if isinstance(answer, dict):
            return answer
        body = answer if isinstance(answer, str) else json.dumps(answer)
        raise ModelUnavailable(
            f"`{self.base_url}{path}` did not return a JSON object: {self._mask(body)}", status=200
        )

    def _check_error(self, answer: Mapping[str, Any], path: str) -> None:
        """Raise the error inside a response with status 200, as some gateways send it."""
        error = answer.get("error")
        if not error or answer.get("choices"):
            return
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        raise self.refuse(path, status, error, None)

    def refuse(
        self, path: str, status: int, body: object, headers: Mapping[str, str] | None
    ) -> ModelError:
        """Return the error for a response with ``status``; ``body`` is its body or error object."""
        inner = body.get("error", body) if isinstance(body, dict) else body
        code, detail = "", inner if isinstance(inner, str) else ""
        if isinstance(inner, dict):
            code = str(inner.get("code") or inner.get("type") or "")
            reason = inner.get("message") or inner.get("detail")
            detail = reason if isinstance(reason, str) else json.dumps(inner, ensure_ascii=False)
            sizes = [f"{n} {inner[n]}" for n in _STATED_SIZES if isinstance(inner.get(n), int)]
            detail = f"{detail} ({', '.join(sizes)})" if sizes else detail
        detail = self._mask(detail)
        message = f"`{self.base_url}{path}` answered {status}: {detail or 'no reason given'}"
        if status == 429 and code in _QUOTA_CODES:
            fix = "Check the plan and the billing of your account at the server."
            return Refusal(message, status=status, server_code=code, fix=fix)
        is_lasting = status >= 500 and _UNSUPPORTED_INPUT.search(detail)
        if not is_lasting and (status in TRANSIENT_STATUSES or status >= 500):
            wait_s = read_wait(headers or {})
            fix = _BUSY_FIXES[self.section] if status == 429 else _FAULT_FIX
            return ModelUnavailable(message, fix=fix, status=status, retry_after_s=wait_s)
        fix = _FIXES.get(status, "").replace("SECTION", self.section)
        return Refusal(message, status=status, server_code=code, fix=fix)

    @contextmanager
    def _translated_errors(self, path: str) -> Iterator[None]:
        """Translate errors of httpx2, and of JSON in a stream, to those of `knotwork.errors`."""
        try:
            yield
        except Exception as error:
            translated = self._error_of(error, path)
            if translated is None:
                raise
            raise translated from None

    def _error_of(self, error: Exception, path: str) -> ModelError | None:
        import httpx2

        url = f"{self.base_url}{path}"
        if isinstance(error, httpx2.TimeoutException):
            return ModelUnavailable(
                f"`{url}` did not respond within {self._timeout_s:g} s.",
                fix=_SLOW_FIXES[self.section],
                timed_out=True,
            )
        if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
            return self._unreachable(url, self._mask(str(error) or type(error).__name__))
        if isinstance(error, ValueError | RecursionError):
            return ModelUnavailable(
                f"`{url}` did not return valid JSON: {self._mask(str(error))}", status=200
            )
        return None


def _read_events(chunks: Iterable[bytes], *, lines: bool) -> Iterator[bytes]:
    """Yield the data of server-sent events, or the lines of a response, as they arrive."""
    rest = b""
    data: list[bytes] = []
    for chunk in chain(chunks, (b"\n\n",)):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in map(bytes.strip, whole):
            if lines and line:
                yield line
            elif line.startswith(b"data:"):
                data.append(line.removeprefix(b"data:").strip())
            elif not line and data:
                if data[0].startswith(b"[DONE]"):
                    return
                yield b"\n".join(data)
                data = []


def _check_url(base_url: str, section: str) -> None:
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            f"`{base_url}` is not a valid server URL.",
            fix=f"Write {section}.base_url with its scheme, such as http://localhost:8000/v1",
        )


def read_wait(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that a server asks to wait: a number or a date (RFC 9110)."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        text = headers.get(name, "").strip()
        if text.replace(".", "", 1).isdecimal():
            return float(text) / unit
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds_until(moment, now=now)
