"""An embedding server on this machine with scripted responses."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from knotwork._extensions.testing.embedders import HashingEmbedder

ORACLE = HashingEmbedder(32)
Reply = tuple[int, dict[str, str], bytes]
Answer = Callable[[dict], Reply]


def embed_as_base64(payload: dict) -> Reply:
    """Answer as the original API does, in another order than asked, with rows of length 3."""
    rows = ORACLE.embed(payload["input"]) * np.float32(3)
    data = [
        {"index": i, "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()}
        for i, row in enumerate(rows)
    ]
    return 200, {}, json.dumps({"data": data[::-1]}).encode()


def embed_as_lists(payload: dict) -> Reply:
    """Answer as servers do that know no base64, nor an index."""
    data = [{"embedding": row.tolist()} for row in ORACLE.embed(payload["input"])]
    return 200, {}, json.dumps({"data": data}).encode()


class Server:
    """Answers the n-th request with the n-th of ``answers``, and further ones with the last."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers
        self.requests: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.running = self.most_running = 0
        self.lock = threading.Lock()
        self.url = ""

    def answer(self, payload: dict, headers: dict[str, str]) -> Reply:
        with self.lock:
            place = min(len(self.requests), len(self.answers) - 1)
            self.requests.append(payload)
            self.headers.append(headers)
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            return self.answers[place](payload)
        finally:
            with self.lock:
                self.running -= 1


@contextmanager
def serve(*answers: Answer) -> Iterator[Server]:
    state = Server(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, content = state.answer(
                {"path": self.path, **json.loads(body)}, self.headers
            )
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", headers.get("Length", str(len(content))))
            self.end_headers()
            with suppress(OSError):  # a client that gave up has closed the connection
                self.wfile.write(content)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def reply(status: int, body: object = "", **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("Content-Type", "application/json")
    return lambda _: (status, named, content)
