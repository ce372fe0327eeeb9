"""Idempotency keys: answer a repeated upload with the response to the first one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, TypeVar

from fastapi import Header
from pydantic import BaseModel

from knotwork._service.keys import AccessKey
from knotwork._service.server import Service
from knotwork._service.uploads import ReceivedFile
from knotwork._service.workspaces import Workspace
from knotwork.errors import Conflict, InvalidRequest

ResponseModel = TypeVar("ResponseModel", bound=BaseModel)

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="An upload repeated with the same key and files within a day gets the first "
        "response again and is not processed twice.",
    ),
]


class IdempotentUpload:
    """An upload of one caller to one workspace, which may repeat an earlier one.

    ``options`` are the other fields of the request, and the kind of the upload.
    """

    def __init__(
        self,
        server: Service,
        caller: AccessKey,
        workspace: Workspace,
        idempotency_key: str | None,
        files: Sequence[ReceivedFile],
        options: Mapping[str, object],
    ) -> None:
        self._server = server
        self._key = (
            None if idempotency_key is None else (caller.id, workspace.name, idempotency_key)
        )
        self._files = files
        self._options = options

    def answer(
        self, process: Callable[[], ResponseModel], model: type[ResponseModel]
    ) -> ResponseModel:
        """Return the stored response, or run ``process`` and store what it returns.

        Raises Conflict while the same upload is in progress, InvalidRequest if the key was used
        with another upload, and whatever ``process`` raises.
        """
        server, key = self._server, self._key
        if key is None:
            return process()
        if server.uploading.setdefault(key, self) is not self:
            raise Conflict("This upload is already in progress.", fix="Wait for its response.")
        try:
            return self._answer_once(key, process, model)
        finally:
            del server.uploading[key]

    def _answer_once(
        self,
        key: tuple[str, str, str],
        process: Callable[[], ResponseModel],
        model: type[ResponseModel],
    ) -> ResponseModel:
        content = repr((sorted(self._options.items()), [file.digest for file in self._files]))
        fingerprint = sha256(content.encode()).hexdigest()
        records = self._server.records
        stored = records.stored_response(*key)
        if stored is not None:
            if stored[0] != fingerprint:
                raise InvalidRequest(
                    "This Idempotency-Key was already used with another upload.",
                    fix="Use a new key.",
                )
            return model.model_validate(stored[1])
        response = process()
        records.store_response(*key, fingerprint, response.model_dump(mode="json"))
        return response
