"""Serve chats, vectors and rankings over HTTP from a brain, with planned faults."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from knotwork._extensions.testing.brains import Brain, RuleBrain, UnknownTask
from knotwork._extensions.testing.chat_models import end_reply
from knotwork._extensions.testing.model_server.batches import Batches, BatchPlan
from knotwork._extensions.testing.model_server.response_bodies import (
    THINKING,
    BadRequest,
    ChatAnswer,
    chat_body,
    chat_events,
    embedding_body,
    error_body,
    models_body,
    read_messages,
    rerank_body,
    structure_text,
    without_surrogates,
)
from knotwork._extensions.testing.model_server.traffic import (
    HTTP_STATUS,
    Call,
    Fault,
    FaultPlan,
    Traffic,
)
from knotwork._text.token_counts import count_tokens

HOST = "127.0.0.1"


class ModelTestServer:
    """Serves `/chat/completions`, `/embeddings`, `/rerank`, `/models` and `/batches` under ``url``.

    Use it as a context manager, or call `start` and `close`. Requests may name any model; ``model``
    is the one that `/models` lists. The ``brain`` answers chats, and the hashing embedder computes
    vectors and rankings, so equal requests get equal responses. Tokens are counted with
    `count_tokens`. Each response starts after ``latency_s`` seconds; ``sleep`` replaces the wait,
    which by default ends when the server closes. ``faults`` may be replaced at any time.
    Only a server that ``sees`` takes pictures; the others refuse them. ``batches`` plans how
    batches go; their requests are no calls. ``traffic`` records the calls; its ``totals`` are also
    served at ``/traffic``.
    """

    def __init__(  # noqa: PLR0913  each is an independent option
        self,
        brain: Brain | None = None,
        *,
        faults: FaultPlan | None = None,
        latency_s: float = 0.0,
        model: str = "knotwork-test",
        dimension: int = 256,
        port: int = 0,
        sleep: Callable[[float], object] | None = None,
        traffic: Traffic | None = None,
        batches: BatchPlan | None = None,
        sees: bool = False,
    ) -> None:
        self.sees = sees
        self.brain = brain or RuleBrain()
        self.faults = faults or FaultPlan()
        self.latency_s = latency_s
        self.model = model
        self.dimension = dimension
        self.traffic = traffic or Traffic()
        self.batches = Batches(batches or BatchPlan())
        self._closing = threading.Event()
        self._released = threading.Event()
        self._sleep = sleep or self._closing.wait
        self._port = port
        self._server: ConnectionServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base URL, such as "http://127.0.0.1:8123/v1"."""
        if self._server is None:
            raise RuntimeError("The model test server is not running: call `start`, or use `with`.")
        return f"http://{HOST}:{self._server.server_address[1]}/v1"

    def start(self) -> Self:
        """Start serving in a thread, and return this server."""
        self._closing.clear()
        self._released.clear()
        self._server = ConnectionServer((HOST, self._port), ConnectionHandler, self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def close(self) -> None:
        """Release hanging calls, close all connections, and wait for their threads."""
        self._closing.set()
        self._released.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.break_connections()
            self._server.server_close()
        self._server = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def release(self) -> None:
        """Answer all hanging calls, and make later ones not hang."""
        self._released.set()

    def wait_for_release(self) -> None:
        """Block until `release` or `close` is called."""
        self._released.wait()

    def wait_for_latency(self) -> None:
        """Wait for the latency of a call."""
        if self.latency_s > 0:
            self._sleep(self.latency_s)

    def wait_for_piece(self) -> None:
        """Wait between two pieces of a stream."""
        if self.faults.piece_s > 0:
            self._sleep(self.faults.piece_s)

    def sent_text(self) -> str:
        """Return all strings in the bodies of the recorded calls, in order."""
        return "\n".join("\n".join(strings_in(call.body)) for call in self.traffic.calls)


def strings_in(value: object) -> list[str]:
    """Return the strings in a JSON value, depth first."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings_in(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings_in(item)]
    return []


_CHAT, _EMBEDDINGS, _RERANK = "/chat/completions", "/embeddings", "/rerank"


class ConnectionServer(ThreadingHTTPServer):
    """Runs a thread per connection, and can close all connections."""

    daemon_threads = False  # so that closing waits for them
    request_queue_size = 256  # many clients may connect at once

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        model_server: ModelTestServer,
    ) -> None:
        super().__init__(address, handler)
        self.model_server = model_server
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Register the connection, and serve it in a thread."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        """Unregister the connection, and close it."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def break_connections(self) -> None:
        """Close every open connection, so that threads waiting for a request end."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Ignore disconnected clients, and raise any other error for the thread's hook."""
        del request, client_address
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            raise error


class ConnectionHandler(BaseHTTPRequestHandler):
    """Handles the requests of one connection in turn."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: ConnectionServer
    _call: Call | None = None

    def do_GET(self) -> None:
        """Answer `/models`, `/traffic`, `/files` and `/batches`."""
        model_server = self.server.model_server
        endpoint = self.path.removeprefix("/v1")
        if self.path == "/v1/models":
            self._write(200, models_body([model_server.model], window=_listed_window(model_server)))
        elif self.path == "/traffic":
            self._write(200, asdict(model_server.traffic.totals))
        elif endpoint.startswith(("/batches", "/files")):
            status, body = model_server.batches.get(endpoint, self._answer_line)
            self._write(status, body)
        else:
            self._write(404, error_body(f"Nothing at {self.path}.", kind="not_found_error"))

    def _answer_line(self, body: dict[str, Any], content: bytes) -> dict[str, Any]:
        """Return the response to a chat in a batch, which is no call of its own."""
        model_server = self.server.model_server
        call = Call(0, _CHAT, body, {}, None, 0.0)
        _check_fields(body, model_server.faults.refuses)
        return chat_body(answer_chat(model_server, call, content), number=0)

    def do_POST(self) -> None:
        """Answer and record a call."""
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        endpoint = self.path.removeprefix("/v1")
        if endpoint.startswith(("/batches", "/files")):
            self._change_batches(endpoint, content)
            return
        if endpoint not in {_CHAT, _EMBEDDINGS, _RERANK}:
            self._write(404, error_body(f"Nothing at {self.path}.", kind="not_found_error"))
            return
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            told = "The body must be a JSON object."
            self._write(400, error_body(told, kind="invalid_request_error"))
            return
        call = self._begin_call(endpoint, body, content)
        try:
            self._answer(call, content)
        finally:
            self._end_call()

    def _change_batches(self, endpoint: str, content: bytes) -> None:
        kind = self.headers.get("Content-Type", "")
        try:
            self._write(200, self.server.model_server.batches.post(endpoint, kind, content))
        except BadRequest as error:
            told = error_body(str(error), kind="invalid_request_error", field=error.field)
            self._write(400, told)

    def _begin_call(self, endpoint: str, body: dict[str, Any], content: bytes) -> Call:
        model_server = self.server.model_server
        faults = model_server.faults

        def draw(number: int, attempt: int) -> Fault | None:
            return faults.draw(endpoint, content=content, attempt=attempt, number=number)

        call = model_server.traffic.begin(
            endpoint, body, dict(self.headers), draw=draw, content=content
        )
        self._call = call
        return call

    def _end_call(self) -> None:
        """Record the end of a call before its last bytes are sent, so that the client sees it."""
        if self._call is not None:
            self.server.model_server.traffic.end(self._call)
            self._call = None

    def _answer(self, call: Call, content: bytes) -> None:
        model_server = self.server.model_server
        model_server.wait_for_latency()
        if call.fault is Fault.HANG:
            model_server.wait_for_release()
        if call.fault in HTTP_STATUS:
            self._refuse(call, HTTP_STATUS[call.fault])
            return
        try:
            _check_fields(call.body, model_server.faults.refuses)
            if call.endpoint == _CHAT:
                self._write_chat(call, answer_chat(model_server, call, content))
            else:
                self._write_plain(call)
        except BadRequest as error:
            call.status = 400
            told = error_body(str(error), kind="invalid_request_error", field=error.field)
            self._write(400, told)
        except UnknownTask as error:
            call.status = 400
            self._write(400, error_body(str(error), kind="invalid_request_error"))

    def _refuse(self, call: Call, status: int) -> None:
        call.status = status
        headers = {}
        if status == 429:
            headers["Retry-After"] = f"{self.server.model_server.faults.retry_after_s:g}"
        kind = "rate_limit_error" if status == 429 else "server_error"
        self._write(status, error_body("This call was meant to fail.", kind=kind), headers)

    def _write_plain(self, call: Call) -> None:
        model = str(call.body.get("model", self.server.model_server.model))
        if call.endpoint == _EMBEDDINGS:
            dimension = self.server.model_server.dimension
            _check_texts(call.body, self.server.model_server.faults.most_texts)
            body = embedding_body(call.body, model=model, dimension=dimension)
        else:
            body = rerank_body(call.body, model=model)
        call.status = 200
        call.input_tokens = body["usage"]["prompt_tokens"]
        self._write(200, body, broken=call.fault is Fault.BROKEN_JSON)

    def _write_chat(self, call: Call, answer: ChatAnswer) -> None:
        call.status = 200
        call.input_tokens, call.output_tokens = answer.input_tokens, answer.output_tokens
        if not call.body.get("stream"):
            body = chat_body(answer, number=call.number)
            if call.fault is Fault.CUT:
                self._write_half(json.dumps(body).encode())
            else:
                self._write(200, body, broken=call.fault is Fault.BROKEN_JSON)
            return
        options = call.body.get("stream_options") or {}
        events = chat_events(
            answer, number=call.number, include_usage=bool(options.get("include_usage"))
        )
        self._write_stream(list(_encode(events)), call.fault)

    def _write_stream(self, events: list[bytes], fault: Fault | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        half = len(events) // 2
        for place, event in enumerate(events):
            if fault is Fault.CUT and place == half:
                self._end_call()
                self.close_connection = True  # without the last, empty chunk
                return
            if fault is Fault.BROKEN_JSON and place == half:
                event = event[: len(event) // 2] + b"\n\n"  # noqa: PLW2901  the same event, broken
            if fault is Fault.STALL and place == half:
                self.server.model_server.wait_for_release()
            if place:
                self.server.model_server.wait_for_piece()
            if place == len(events) - 1:
                self._end_call()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _write_half(self, content: bytes) -> None:
        """Announce the full length of the content, send half of it, and close."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self._end_call()
        self.wfile.write(content[: len(content) // 2])
        self.close_connection = True

    def _write(
        self,
        status: int,
        body: Mapping[str, Any] | bytes,
        headers: Mapping[str, str] | None = None,
        *,
        broken: bool = False,
    ) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        if broken:
            content = content[: len(content) // 2]
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self._end_call()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        """Log nothing: calls are recorded instead."""


def _check_fields(body: Mapping[str, Any], refused: frozenset[str]) -> None:
    found = sorted(refused & set(body))
    if found:
        raise BadRequest(f"Unsupported parameter: '{found[0]}' is not supported.", found[0])


def _check_texts(body: Mapping[str, Any], most: int) -> None:
    given = body.get("input")
    if most and isinstance(given, list) and len(given) > most:
        raise BadRequest(
            f"Value error, batch size is invalid, it should not be larger than {most}.", "input"
        )


def _encode(events: Iterator[dict[str, Any] | str]) -> Iterator[bytes]:
    for event in events:
        text = event if isinstance(event, str) else json.dumps(event)
        yield f"data: {text}\n\n".encode()


_NO_LIMIT = 1 << 30


def answer_chat(server: ModelTestServer, call: Call, content: bytes) -> ChatAnswer:
    """Return the reply to a chat call with its fault. Raises BadRequest and UnknownTask."""
    body, fault = call.body, call.fault
    messages = read_messages(body, sees=server.sees)
    clean = [replace(m, content=without_surrogates(m.content)) for m in messages]
    sent_tokens = sum(count_tokens(message.content) for message in clean)
    if server.faults.context_tokens:
        sent_tokens = _check_window(server, sent_tokens, body)
    if fault is Fault.GARBAGE:
        text = server.faults.garbage(content)
    else:
        text = structure_text(body, server.brain(clean))
    if fault is Fault.THINKING:
        text = f"<think>\n{THINKING}\n</think>\n\n{text}"
    text, cut = end_reply(text, stop=_stop_texts(body), max_output_tokens=_token_limit(body))
    if fault is Fault.TRUNCATED:
        text, cut = text[: len(text) // 2], True
    reasoning = THINKING if fault in {Fault.REASONING, Fault.EXHAUSTED} else ""
    if fault is Fault.EXHAUSTED:
        text, cut = "", True
    return ChatAnswer(
        model=str(body.get("model", server.model)),
        text=text,
        finish_reason="length" if cut else "stop",
        input_tokens=sent_tokens,
        output_tokens=count_tokens(text) + count_tokens(reasoning),
        reasoning=reasoning,
        has_usage=fault is not Fault.NO_USAGE,
    )


def _listed_window(server: ModelTestServer) -> int:
    return 0 if server.faults.cuts_prompts else server.faults.context_tokens


def _check_window(server: ModelTestServer, sent_tokens: int, body: dict[str, object]) -> int:
    """Return the tokens of a prompt that the model reads. Raises BadRequest if it is too long."""
    window, wanted = server.faults.context_tokens, _token_limit(body)
    if server.faults.cuts_prompts:
        return min(sent_tokens, window)
    wanted = 0 if wanted == _NO_LIMIT else wanted
    if sent_tokens + wanted > window:
        raise BadRequest(
            f"This model's maximum context length is {window} tokens. However, you requested "
            f"{sent_tokens + wanted} tokens ({sent_tokens} in the messages, {wanted} in the "
            "completion). Please reduce the length of the messages or completion.",
            "messages",
        )
    return sent_tokens


def _stop_texts(body: dict[str, object]) -> list[str]:
    stop = body.get("stop") or []
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(mark, str) for mark in stops):
        raise BadRequest("`stop` must be a text or a list of texts.", "stop")
    return stops


def _token_limit(body: dict[str, object]) -> int:
    """Return the limit of output tokens. The newer name of the field takes precedence."""
    for name in ("max_completion_tokens", "max_tokens"):
        limit = body.get(name)
        if limit is not None:
            if not isinstance(limit, int) or limit < 1:
                raise BadRequest(f"`{name}` must be a positive number.", name)
            return limit
    return _NO_LIMIT
