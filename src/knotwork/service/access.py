"""Authenticate requests, check roles, and lease the workspace that a route needs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from knotwork.errors import ConfigError, NotAuthenticated, NotPermitted, Overloaded
from knotwork.service.keys import LOCAL_USER, AccessKey, KeyRole
from knotwork.service.limits import holding
from knotwork.service.server import Service, is_loopback
from knotwork.service.workspaces import Workspace, no_workspace

_log = logging.getLogger("knotwork.service")
_scheme = HTTPBearer(auto_error=False, description="A key: knotwork keys add NAME")

_ADD_KEY = "Send it as: Authorization: Bearer KEY. Make one with: knotwork keys add NAME"


def service_of(request: Request) -> Service:
    """Return the server that a request came to."""
    service: Service = request.app.state.service
    return service


async def authenticate(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)],
) -> AccessKey:
    """Return the key of a request, and count the request against it.

    Raises NotAuthenticated, NotPermitted, TooManyRequests.
    """
    service = service_of(request)
    address = request.client.host if request.client else ""
    has_keys = _has_keys(service)
    if credentials is not None:
        key = service.keys.find(credentials.credentials)
        if key is None and (has_keys or not _is_local(request, address)):
            service.failures.take(address)
            raise NotAuthenticated("The key is not known.", fix=_ADD_KEY)
        # Clients of OpenAI always send a key; one is as good as none where none is needed.
        key = key or LOCAL_USER
    elif has_keys:
        raise NotAuthenticated("The request has no key.", fix=_ADD_KEY)
    elif not _is_local(request, address):
        raise NotAuthenticated(
            "Without a key, only this machine is served, as `localhost` or `127.0.0.1`, and to no "
            "page of another site.",
            fix=_ADD_KEY,
        )
    else:
        key = LOCAL_USER
    service.rates.take(key.id or address)
    return key


async def authenticate_request(request: Request) -> AccessKey:
    """Return the key of a request that comes to no route of the API; raises as `authenticate`."""
    return await authenticate(request, await _scheme(request))


def _has_keys(service: Service) -> bool:
    """Tell whether there are keys. Raises Overloaded, without a word of where they lie, while
    their file cannot be read: then nobody is let in.
    """
    try:
        return bool(service.keys.listed())
    except ConfigError as error:
        _log.error("%s", error)
        raise Overloaded(
            "The keys of this server cannot be read.", fix="Look at the log of the server."
        ) from error


def _is_local(request: Request, address: str) -> bool:
    """Tell whether a request comes from this machine, and from no web page of another site.

    A browser lets any page send requests to this machine, and any name lead to it: the name that
    was asked for and the page that asks must be of this machine, too.
    """
    service = service_of(request)
    if not is_loopback(service.limits.host) or not is_loopback(address):
        return False
    if not is_loopback(request.url.hostname or ""):
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    return origin in service.limits.cors_origins or (
        urlsplit(origin).netloc == request.headers.get("host")
    )


def require(key: AccessKey, role: KeyRole) -> None:
    """Raise NotPermitted when a key has not the role."""
    if not key.role.covers(role):
        raise NotPermitted(
            f"The key `{key.name}` may {key.role}, and this needs {role}.",
            fix=f"Use a key with the role {role}.",
        )


Caller = Annotated[AccessKey, Depends(authenticate)]
WorkspaceName = Annotated[
    str, Path(description="The name of a workspace.", max_length=64, examples=["default"])
]


@contextmanager
def lease(server: Service, name: str) -> Iterator[Workspace]:
    """Keep a workspace while a request needs it, and all work of the request is done, even that
    for which nobody waits any more. Raises NotFound.
    """
    with server.workspaces.lease(name) as workspace:
        holding.set(partial(server.workspaces.hold, workspace))
        yield workspace


async def _lease(
    request: Request, key: AccessKey, name: str, role: KeyRole
) -> AsyncIterator[Workspace]:
    if not key.may_see(name):
        raise no_workspace(name)
    require(key, role)
    with lease(service_of(request), name) as workspace:
        yield workspace


async def _to_read(
    request: Request, key: Caller, workspace: WorkspaceName
) -> AsyncIterator[Workspace]:
    async for leased in _lease(request, key, workspace, KeyRole.READ):
        yield leased


async def _to_write(
    request: Request, key: Caller, workspace: WorkspaceName
) -> AsyncIterator[Workspace]:
    async for leased in _lease(request, key, workspace, KeyRole.WRITE):
        yield leased


ReadWorkspace = Annotated[Workspace, Depends(_to_read)]
"""The workspace of the address, for a key that may read it."""

WriteWorkspace = Annotated[Workspace, Depends(_to_write)]
"""The workspace of the address, for a key that may write to it."""

Server = Annotated[Service, Depends(service_of)]
