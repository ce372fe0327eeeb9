"""A small JSON-over-HTTP client for model servers, on the standard library alone."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import IO, Any
from urllib.parse import urlsplit

from knotwork.config import SecretRef
from knotwork.errors import ConfigError, ModelError, ModelUnavailable

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_SHOWN_CHARACTERS = 300
_LARGEST_BODY = 1 << 30


class ModelServer:
    """A server of an OpenAI-compatible API under ``base_url``.

    Redirects are refused, as following one would hand the key to another host. Raises ConfigError
    for an address that is none.
    """

    def __init__(self, base_url: str, *, api_key: SecretRef | None, timeout_s: float) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(
                f"`{base_url}` is not the address of a server.",
                fix="Write it with its scheme, such as http://localhost:8000/v1",
            )
        self.base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._opener = urllib.request.build_opener(_NoRedirects)

    def post(self, path: str, payload: Mapping[str, object]) -> Any:  # noqa: ANN401  JSON
        """Send JSON and return the JSON that comes back.

        Raises ModelUnavailable for what may pass (no connection, time-out, 429, 5xx, a broken
        answer), ModelError for any other refusal, ConfigError when the key is not set. The key
        appears in none of them.
        """
        return self._exchange(path, json.dumps(payload).encode())

    def get(self, path: str) -> Any:  # noqa: ANN401  JSON
        """Return the JSON under ``path``; raises as `post` does."""
        return self._exchange(path, None)

    def _exchange(self, path: str, data: bytes | None) -> Any:  # noqa: ANN401  JSON
        url = f"{self.base_url}{path}"
        key = self._api_key.reveal() if self._api_key else ""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        # The scheme was checked to be http or https.
        request = urllib.request.Request(url, data=data, headers=headers)  # noqa: S310
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                body = response.read(_LARGEST_BODY)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(url, error, key) from None
        except TimeoutError as error:
            raise self._no_answer_in_time(url) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._no_answer_in_time(url) from error
            raise ModelUnavailable(
                f"No connection to `{url}`: {error.reason}.",
                fix="Check embedding.base_url, and that the server runs.",
            ) from error
        except (http.client.HTTPException, OSError) as error:
            raise ModelUnavailable(f"The connection to `{url}` broke: {error!r}.") from error
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            shown = shorten(body, key)
            raise ModelUnavailable(f"`{url}` answered what is not JSON: {shown}") from error

    def _no_answer_in_time(self, url: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"`{url}` gave no answer within {self._timeout_s:g} s.",
            fix="Raise embedding.timeout_s, or lower embedding.batch_tokens.",
        )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        del req, fp, code, msg, headers, newurl


def _refusal(url: str, error: urllib.error.HTTPError, key: str) -> ModelError:
    try:
        detail = shorten(_error_message(error.read(_LARGEST_BODY)), key)
    except (OSError, http.client.HTTPException):
        detail = ""
    message = f"`{url}` answered {error.code}: {detail or error.reason}"
    if error.code in TRANSIENT_STATUSES or error.code >= 500:
        wait_s = parse_retry_after(error.headers.get("Retry-After"))
        return ModelUnavailable(message, retry_after_s=wait_s)
    if error.code in {401, 403}:
        fix = 'Check the key, or name its variable: embedding.api_key = { env = "NAME" }'
    elif error.code == 404:
        fix = "Check the model's name and embedding.base_url."
    else:
        fix = ""
    return ModelError(message, fix=fix)


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for: a number or a date (RFC 9110)."""
    if not value:
        return None
    text = value.strip()
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _error_message(body: bytes) -> bytes | str:
    """Return the message of an error in the form of OpenAI, else the body itself."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return body
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else body


def shorten(body: bytes | str, key: str) -> str:
    """Return text to show: in one line, without the key, and not too long."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    text = " ".join(text.split())
    if key:
        text = text.replace(key, "***")
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
