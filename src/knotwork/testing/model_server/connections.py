"""Connections to the model server: reading requests, writing answers, going wrong as planned."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from knotwork.testing.brains import UnknownTask
from knotwork.testing.model_server.answers import (
    BadRequest,
    ChatAnswer,
    chat_body,
    chat_events,
    embedding_body,
    error_body,
    models_body,
    rerank_body,
)
from knotwork.testing.model_server.chats import answer_chat
from knotwork.testing.model_server.faults import HTTP_STATUS, Fault
from knotwork.testing.model_server.traffic import Call

if TYPE_CHECKING:
    from knotwork.testing.model_server.server import ModelTestServer

_CHAT, _EMBEDDINGS, _RERANK = "/chat/completions", "/embeddings", "/rerank"


class ConnectionServer(ThreadingHTTPServer):
    """Runs a thread for each connection, and can break them all."""

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
        """Remember the connection, then serve it in a thread."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        """Forget the connection and close it."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def break_connections(self) -> None:
        """Shut every open connection, so that the threads that wait for a request end."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Take a client that has gone for normal; anything else goes to the thread's hook."""
        del request, client_address
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            raise error


class ConnectionHandler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after another."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: ConnectionServer
    _call: Call | None = None

    def do_GET(self) -> None:
        """Answer `/models`, and the counts so far."""
        model_server = self.server.model_server
        if self.path == "/v1/models":
            self._write(200, models_body([model_server.model]))
        elif self.path == "/traffic":
            self._write(200, asdict(model_server.traffic.totals))
        else:
            self._write(404, error_body(f"Nothing at {self.path}.", kind="not_found_error"))

    def do_POST(self) -> None:
        """Answer one call, and count it."""
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        endpoint = self.path.removeprefix("/v1")
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
        """Count the call out, before the last bytes leave: who has them all finds it counted."""
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
            if place == len(events) - 1:
                self._end_call()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _write_half(self, content: bytes) -> None:
        """Promise all of the content, send half, and close."""
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
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        *,
        broken: bool = False,
    ) -> None:
        content = json.dumps(body).encode()
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
        """Say nothing: calls are counted instead."""


def _check_fields(body: Mapping[str, Any], refused: frozenset[str]) -> None:
    found = sorted(refused & set(body))
    if found:
        raise BadRequest(f"Unsupported parameter: '{found[0]}' is not supported.", found[0])


def _encode(events: Iterator[dict[str, Any] | str]) -> Iterator[bytes]:
    for event in events:
        text = event if isinstance(event, str) else json.dumps(event)
        yield f"data: {text}\n\n".encode()
