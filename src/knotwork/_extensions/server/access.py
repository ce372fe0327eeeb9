"""Check keys and roles, and lease the workspace that a route needs."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, get_args, get_type_hints
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from knotwork._extensions.server.keys import LOCAL_USER, AccessKey, KeyRole
from knotwork._extensions.server.limits import holding
from knotwork._extensions.server.responses import Envelope, request_id
from knotwork._extensions.server.server import Service, is_loopback
from knotwork._extensions.server.workspaces import ReadableWorkspace, Workspace, no_workspace
from knotwork._shapes.base import Shape, converter, model_type
from knotwork.errors import ConfigError, NotAuthenticated, NotPermitted, Overloaded

_log = logging.getLogger("knotwork.service")
_scheme = HTTPBearer(auto_error=False, description="A key: knotwork keys add NAME")

HELD_BODY = "knotwork.held_body"
"""The key of the scope with the `HeldBytes` of the request body."""

_ADMITTED_KEY = "knotwork.key"
_LEASED = "knotwork.workspace"

_ADD_KEY = "Send a key as: Authorization: Bearer KEY. Create one with: knotwork keys add NAME"


def service_of(request: Request) -> Service:
    """Return the service that handles a request."""
    service: Service = request.app.state.service
    return service


async def admit(request: Request) -> AccessKey:
    """Check the key of a request by its headers, and count it against the rate limit of the key.

    `AccessMiddleware` calls it once for each request; routes then get the key by `authenticate`.
    Without any key on the server, requests from this machine get `LOCAL_USER`. Raises
    NotAuthenticated, TooManyRequests, or Overloaded if the key file cannot be read.
    """
    service = service_of(request)
    credentials = await _scheme(request)
    address = address_of(request)
    try:
        has_keys = bool(service.keys.listed())
    except ConfigError as error:  # nobody gets in; only the log has the path
        _log.error("%s", error)
        raise Overloaded(
            "The server cannot read its key file.", fix="See the server log."
        ) from error
    if credentials is not None:
        key = service.keys.find(credentials.credentials)
        if key is None and (has_keys or not _is_local(request, address)):
            service.failures.take(address)
            raise NotAuthenticated("Unknown key.", fix=_ADD_KEY)
        # OpenAI clients always send a key. Where no key is needed, any key is accepted.
        key = key or LOCAL_USER
    elif has_keys:
        raise NotAuthenticated("The request has no key.", fix=_ADD_KEY)
    elif not _is_local(request, address):
        raise NotAuthenticated(
            "Requests without a key are accepted only from this machine, addressed to `localhost` "
            "or `127.0.0.1`, and not from pages of other sites.",
            fix=_ADD_KEY,
        )
    else:
        key = LOCAL_USER
    request.scope[_ADMITTED_KEY] = key
    service.rates.take(caller_of(request))
    return key


def key_of(request: Request) -> AccessKey:
    """Return the key that a request was admitted with."""
    key: AccessKey = request.scope[_ADMITTED_KEY]
    return key


def caller_of(request: Request) -> str:
    """Return the name under which limits count a client: its key, or its address without one."""
    return key_of(request).id or address_of(request)


def address_of(request: Request) -> str:
    """Return the address of a client; behind a trusted proxy, the one that it forwards."""
    return request.client.host if request.client else ""


async def authenticate(
    request: Request,
    _credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)],
) -> AccessKey:
    """Return the key of a request to an API route; the parameter describes it in OpenAPI."""
    return key_of(request)


def _is_local(request: Request, address: str) -> bool:
    """Return True if a request comes from this machine and not from a page of another site.

    Any web page can make a browser send requests to this machine, and any host name can resolve to
    it. So the requested host and the origin of the page must be local, too.
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
    """Raise NotPermitted if a key lacks the role."""
    if not key.role.covers(role):
        raise NotPermitted(
            f"The key `{key.name}` has the role {key.role}, but this needs {role}.",
            fix=f"Use a key with the role {role}.",
        )


Caller = Annotated[AccessKey, Depends(authenticate)]
WorkspaceName = Annotated[
    str, Path(description="The name of a workspace.", max_length=64, examples=["default"])
]


@contextmanager
def lease(server: Service, name: str, key: AccessKey) -> Iterator[Workspace]:
    """Keep a workspace open for a request until all its work is done, including work that has
    timed out; it has only the documents that the key may read. Raises NotFound, also for a key
    without access.
    """
    if not key.may_see(name):
        raise no_workspace(name)
    with server.workspaces.lease(name) as workspace:
        holding.set(partial(server.workspaces.hold, workspace))
        yield ReadableWorkspace(workspace, key.where) if key.where else workspace


@dataclass(frozen=True, slots=True)
class _Access:
    """The dependency that returns the workspace of a route, which its `WorkspaceRoute` leases.

    ``is_whole`` refuses keys that are bound to some documents.
    """

    role: KeyRole
    is_whole: bool = False

    def __call__(self, request: Request, key: Caller, workspace: WorkspaceName) -> Workspace:
        del key, workspace  # parameters for the OpenAPI document
        leased: Workspace = request.scope[_LEASED]
        return leased

    def check(self, key: AccessKey, workspace: str) -> None:
        """Raise NotFound or NotPermitted if a key has no access to the route of a workspace."""
        if not key.may_see(workspace):
            raise no_workspace(workspace)
        require(key, self.role)
        if self.is_whole and key.where:
            raise NotPermitted(
                f"The key `{key.name}` may read the documents with {key.where}, but this is about "
                "all documents.",
                fix="Use a key without a filter.",
            )


RouteHandler = Callable[[Request], Coroutine[Any, Any, Response]]


class WorkspaceRoute(APIRoute):
    """A route that leases its workspace before the body of a request is read.

    FastAPI reads bodies before it calls dependencies, and a key that may not write should not make
    the server receive an upload.
    """

    def get_route_handler(self) -> RouteHandler:
        """Return the handler of the route."""
        handle = super().get_route_handler()
        calls = [dependency.call for dependency in self.dependant.dependencies]
        access = next((call for call in calls if isinstance(call, _Access)), None)
        if access is None:
            return handle

        async def answer(request: Request) -> Response:
            key, name = key_of(request), request.path_params["workspace"]
            access.check(key, name)
            with lease(service_of(request), name, key) as workspace:
                request.scope[_LEASED] = workspace
                return await self.answer(request, workspace, handle)

        return answer

    async def answer(
        self, request: Request, workspace: Workspace, handle: RouteHandler
    ) -> Response:
        """Answer a request that has access to its workspace."""
        del workspace
        return await handle(request)


ReadWorkspace = Annotated[Workspace, Depends(_Access(KeyRole.READ))]
"""The workspace in the path, for a key that may read it, with the documents that it may read."""

ReadWhole = Annotated[Workspace, Depends(_Access(KeyRole.READ, is_whole=True))]
"""The workspace in the path, for a key that may read all of it."""

WriteWorkspace = Annotated[Workspace, Depends(_Access(KeyRole.WRITE))]
"""The workspace in the path, for a key that may write to it."""

Server = Annotated[Service, Depends(service_of)]


class Routes(APIRouter):
    """The routes of one resource below /api/v1.

    A plain function runs in a thread of the server. What it returns is sent in an envelope, records
    in their shape; a `Response` is sent as it is.
    """

    def __init__(self, tag: str, *, route_class: type[APIRoute] = WorkspaceRoute) -> None:
        super().__init__(tags=[tag], route_class=route_class)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401
        """Add a route, as its decorator does."""
        status = options.get("status_code") or 200
        super().add_api_route(path, _in_envelope(endpoint, status), **options)


def _in_envelope(answer: Callable[..., Any], status_code: int) -> Callable[..., Any]:
    """Return the route that sends what a function returns, with the same parameters."""
    types = get_type_hints(answer, include_extras=True)
    returned = types["return"]
    is_async = inspect.iscoroutinefunction(answer)
    if isinstance(returned, type) and issubclass(returned, Response):
        return answer
    parts = get_args(returned)
    kind = parts[0] if Response in parts else returned
    is_shaped = any(isinstance(mark, Shape) for mark in getattr(kind, "__metadata__", ()))
    convert = None if is_shaped else converter(kind)
    generic: Any = Envelope
    envelope = generic[model_type(kind)]

    def send(found: Any, given: Response | None) -> Response:  # noqa: ANN401
        if isinstance(found, Response):
            return found
        data = convert(found) if convert else found
        body = envelope.model_construct(data=data, request_id=request_id.get()).model_dump_json()
        response = Response(body, status_code, media_type="application/json")
        if given is not None:
            response.headers.update(given.headers)
        return response

    @wraps(answer)
    async def respond(*, _serving: Service, **arguments: Any) -> Response:  # noqa: ANN401
        given = arguments.get("response")
        if is_async:
            return send(await answer(**arguments), given)
        return await _serving.threads.run(lambda: send(answer(**arguments), given))

    parameters = [
        parameter.replace(annotation=types[parameter.name])
        for parameter in inspect.signature(answer).parameters.values()
    ]
    serving = inspect.Parameter("_serving", inspect.Parameter.KEYWORD_ONLY, annotation=Server)
    respond.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*parameters, serving], return_annotation=envelope
    )
    return respond
