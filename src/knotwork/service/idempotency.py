"""Idempotency keys: answer a repeated upload with its first response."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, TypeVar

from fastapi import Header
from pydantic import BaseModel

from knotwork.errors import Conflict, InvalidRequest
from knotwork.service.keys import AccessKey
from knotwork.service.server import Service
from knotwork.service.uploads import SpooledFile
from knotwork.service.workspaces import Workspace

ResponseModel = TypeVar("ResponseModel", bound=BaseModel)

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="Sent again with the same files, within a day, an upload is answered as it was "
        "the first time, and not done twice.",
    ),
]


class IdempotentUpload:
    """An upload of one caller to one workspace, answered as before if it came before.

    ``options`` are all that was sent beside the files, with what it was sent to.
    """

    def __init__(
        self,
        server: Service,
        caller: AccessKey,
        workspace: Workspace,
        repeat_key: str | None,
        *,
        files: Sequence[SpooledFile],
        options: Mapping[str, object],
    ) -> None:
        self._server = server
        self._mark = (caller.id, workspace.name, repeat_key) if repeat_key is not None else None
        self._files = files
        self._options = options

    async def answer(
        self, do: Callable[[], ResponseModel], shape: type[ResponseModel]
    ) -> ResponseModel:
        """Return what ``do`` returns, or what it returned before, in a thread of the server.

        Raises Conflict while the same upload is under way, InvalidRequest where its key came with
        another one before, and as ``do`` does.
        """
        server, mark = self._server, self._mark
        if mark is None:
            return await server.threads.run(do)
        if mark in server.uploading:
            raise Conflict("This upload is under way.", fix="Wait for its response.")
        server.uploading.add(mark)
        try:
            return await server.threads.run(self._answer_once, mark, do, shape)
        finally:
            server.uploading.discard(mark)

    def _answer_once(
        self,
        mark: tuple[str, str, str],
        do: Callable[[], ResponseModel],
        shape: type[ResponseModel],
    ) -> ResponseModel:
        asked = repr((sorted(self._options.items()), [file.digest for file in self._files]))
        fingerprint = sha256(asked.encode()).hexdigest()
        records = self._server.records
        before = records.answered(*mark)
        if before is not None:
            if before[0] != fingerprint:
                raise InvalidRequest(
                    "This Idempotency-Key came with other files before.", fix="Use a new one."
                )
            return shape.model_validate(before[1])
        told = do()
        records.keep_answer(*mark, fingerprint, told.model_dump(mode="json"))
        return told
