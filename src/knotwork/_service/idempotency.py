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


def answer_upload(
    server: Service,
    caller: AccessKey,
    workspace: Workspace,
    idempotency_key: str | None,
    files: Sequence[ReceivedFile],
    options: Mapping[str, object],
    process: Callable[[], ResponseModel],
    model: type[ResponseModel],
) -> ResponseModel:
    """Return the stored response to an upload that may repeat an earlier one, or process it.

    ``options`` are the other fields of the request, and the kind of the upload. What ``process``
    returns is stored. Raises Conflict while the same upload is in progress, InvalidRequest if the
    key was used with another upload, and whatever ``process`` raises.
    """
    if idempotency_key is None:
        return process()
    key = (caller.id, workspace.name, idempotency_key)
    upload = object()
    if server.uploading.setdefault(key, upload) is not upload:
        raise Conflict("This upload is already in progress.", fix="Wait for its response.")
    try:
        content = repr((sorted(options.items()), [file.digest for file in files]))
        fingerprint = sha256(content.encode()).hexdigest()
        stored = server.records.stored_response(*key)
        if stored is None:
            response = process()
            body = response.model_dump(mode="json")
            server.records.store_response(*key, fingerprint, body)
            return response
        if stored[0] != fingerprint:
            raise InvalidRequest(
                "This Idempotency-Key was already used with another upload.", fix="Use a new key."
            )
        return model.model_validate(stored[1])
    finally:
        del server.uploading[key]
