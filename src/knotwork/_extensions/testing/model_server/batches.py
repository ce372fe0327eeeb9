"""Files and batches of an OpenAI-compatible API, answered when a client looks at them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from knotwork._extensions.testing.model_server.response_bodies import BadRequest

AnswerChat = Callable[[dict[str, Any], bytes], dict[str, Any]]
"""Returns the body of the response to a chat. Raises BadRequest."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How batches go: ``polls`` looks find one in progress, and then it has the ``status``.

    The lines at the positions in ``fails`` (from 0) get status 500; those in ``drops`` have no line
    in the output. ``lists`` is False for a server that does not list its batches.
    """

    polls: int = 1
    status: str = "completed"
    fails: frozenset[int] = frozenset()
    drops: frozenset[int] = frozenset()
    lists: bool = True


@dataclass(slots=True)
class _Batch:
    body: dict[str, Any]
    looks: int = 0
    status: str = "in_progress"
    output: str = ""


@dataclass
class Batches:
    """The files and batches of a server. ``created`` lists the bodies of all batches, in order."""

    plan: BatchPlan = field(default_factory=BatchPlan)
    _files: dict[str, bytes] = field(default_factory=dict)
    _batches: dict[str, _Batch] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def created(self) -> list[dict[str, Any]]:
        """The bodies of the requests that created batches."""
        return [batch.body for batch in self._batches.values()]

    @property
    def cancelled(self) -> list[str]:
        """The ids of cancelled batches."""
        return [name for name, batch in self._batches.items() if batch.status == "cancelled"]

    def lines(self, number: int = 0) -> list[dict[str, Any]]:
        """Return the lines of the file of a batch, by its position."""
        return self._lines(self.created[number])

    def get(self, path: str, answer: AnswerChat) -> tuple[int, dict[str, Any] | bytes]:
        """Return status and body for a path behind `/v1`."""
        parts = path.partition("?")[0].strip("/").split("/")
        with self._lock:
            if parts == ["batches"] and self.plan.lists:
                return 200, {"data": [self._describe(name) for name in self._batches]}
            if parts[0] == "batches" and len(parts) == 2 and parts[1] in self._batches:
                self._advance(parts[1], answer)
                return 200, self._describe(parts[1])
            if parts[0] == "files" and parts[-1] == "content" and parts[1] in self._files:
                return 200, self._files[parts[1]]
        return 404, {"error": {"message": f"Nothing at {path}.", "type": "not_found_error"}}

    def post(self, path: str, kind: str, content: bytes) -> dict[str, Any]:
        """Return the body for a path behind `/v1`. Raises BadRequest."""
        with self._lock:
            if path == "/files":
                return self._keep(_read_form(kind, content))
            body = json.loads(content)
            if path == "/batches":
                return self._create(body)
            name = path.split("/")[2]
            self._batches[name].status = "cancelled"
            return self._describe(name)

    def _keep(self, form: dict[str, bytes]) -> dict[str, Any]:
        if form.get("purpose") != b"batch" or "file" not in form:
            raise BadRequest("A file needs a purpose.", "purpose")
        name = f"file-{len(self._files)}"
        self._files[name] = form["file"]
        return {"id": name, "object": "file", "bytes": len(form["file"]), "purpose": "batch"}

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("input_file_id") not in self._files:
            raise BadRequest("Unknown file.", "input_file_id")
        if (body.get("endpoint"), body.get("completion_window")) != ("/v1/chat/completions", "24h"):
            raise BadRequest("Unknown endpoint or window.", "endpoint")
        name = f"batch-{len(self._batches)}"
        self._batches[name] = _Batch(body)
        return self._describe(name)

    def _lines(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._files[body["input_file_id"]].splitlines()]

    def _advance(self, name: str, answer: AnswerChat) -> None:
        batch = self._batches[name]
        batch.looks += 1
        if batch.status != "in_progress" or batch.looks <= self.plan.polls:
            return
        batch.status = self.plan.status
        if batch.status == "failed":
            return
        answered = (
            self._answer(line, place, answer)
            for place, line in enumerate(self._lines(batch.body))
            if place not in self.plan.drops
        )
        batch.output = f"file-{len(self._files)}"
        self._files[batch.output] = "".join(f"{json.dumps(line)}\n" for line in answered).encode()

    def _answer(self, line: dict[str, Any], place: int, answer: AnswerChat) -> dict[str, Any]:
        failure: dict[str, Any] = {"error": {"message": "This line was meant to fail."}}
        status, body = 500, failure
        if place not in self.plan.fails:
            try:
                status, body = 200, answer(line["body"], json.dumps(line["body"]).encode())
            except BadRequest as error:
                status, body = 400, {"error": {"message": str(error)}}
        response = {"status_code": status, "request_id": f"r-{place}", "body": body}
        return {"id": f"l-{place}", "custom_id": line["custom_id"], "response": response}

    def _describe(self, name: str) -> dict[str, Any]:
        batch = self._batches[name]
        total = len(self._lines(batch.body))
        done = total if batch.status == "completed" else min(batch.looks, total)
        errors = [{"code": "invalid", "message": "This batch was meant to fail.", "line": 1}]
        return {
            "id": name,
            "object": "batch",
            "status": batch.status,
            "metadata": batch.body.get("metadata"),
            "input_file_id": batch.body["input_file_id"],
            "output_file_id": batch.output or None,
            "errors": {"data": errors} if batch.status == "failed" else None,
            "request_counts": {"total": total, "completed": done, "failed": 0},
        }


def _read_form(kind: str, content: bytes) -> dict[str, bytes]:
    """Return the fields of a multipart form."""
    message = BytesParser(policy=HTTP).parsebytes(
        f"Content-Type: {kind}\r\n\r\n".encode() + content
    )
    fields: dict[str, bytes] = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str):
            payload = part.get_payload(decode=True)
            fields[name] = payload if isinstance(payload, bytes) else b""
    return fields
