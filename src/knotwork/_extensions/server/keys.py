"""Access keys with their roles and workspaces, the requests that they began, and workspace names.

A key is ``kw_ID_SECRET``, and the file stores only hashes. The secret has 256 random bits, so one
round of a salted hash protects it as well as a slow hash would.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path

from knotwork._durable_files import replace_file
from knotwork._extensions.server.private_files import FILE_MODE
from knotwork.errors import ConfigError, UnknownName

ALL_WORKSPACES = "*"
KEYS_FILE = ".knotwork-keys.json"

_PREFIX = "kw"
_KEY = re.compile(rf"{_PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
_PERSON = b"knotwork-key"


class KeyRole(StrEnum):
    """What a key may do. Each role includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, needed: KeyRole) -> bool:
        """Return True if this role includes another one."""
        order = list(KeyRole)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A stored key; ``workspaces`` are names, or `ALL_WORKSPACES`.

    ``where`` is the filter of the documents that it may read, "" for all. A key with a filter can
    only read.
    """

    id: str
    name: str
    role: KeyRole
    workspaces: tuple[str, ...]
    salt: str
    hash: str
    created: str
    where: str = ""

    def may_see(self, workspace: str) -> bool:
        """Return True if the key gives access to this workspace."""
        return self.sees_all or workspace in self.workspaces

    @property
    def sees_all(self) -> bool:
        """Whether the key gives access to all workspaces."""
        return ALL_WORKSPACES in self.workspaces


LOCAL_USER = AccessKey("", "local", KeyRole.ADMIN, (ALL_WORKSPACES,), "", "", "")
"""The caller of requests from this machine to a server without keys."""


class KeyFile:
    """The keys of one server, in a file that only its owner can read.

    The file is read again whenever it changes, so added and removed keys take effect immediately.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._keys: Mapping[str, AccessKey] = {}

    def listed(self) -> list[AccessKey]:
        """Return all keys, oldest first. Raises ConfigError if the file cannot be read."""
        return sorted(self._current().values(), key=lambda key: (key.created, key.id))

    def find(self, token: str) -> AccessKey | None:
        """Return the key with this text, or None if there is no such key."""
        parts = _KEY.fullmatch(token)
        stored = self._current().get(parts[1]) if parts else None
        if stored is None or parts is None:
            return None
        digest = _hash(parts[2], bytes.fromhex(stored.salt))
        return stored if hmac.compare_digest(digest, stored.hash) else None

    def holds(self, key: AccessKey) -> bool:
        """Return True if a key is stored unchanged; for `LOCAL_USER`, if there are no keys.

        Raises ConfigError if the file cannot be read.
        """
        known = self._current()
        return known.get(key.id) == key if key.id else not known

    def add(
        self, name: str, *, role: KeyRole, workspaces: Sequence[str], where: str = ""
    ) -> tuple[AccessKey, str]:
        """Create a key, and return it with its text, which is not stored.

        Raises ConfigError if the file cannot be read or written, or for a key that is bound to a
        filter and has another role than read.
        """
        if where and role is not KeyRole.READ:
            raise ConfigError(
                "A key that is bound to some documents can only read.",
                fix="Leave out the role, or the filter.",
            )
        identifier, secret, salt = secrets.token_hex(6), secrets.token_urlsafe(32), os.urandom(16)
        created = datetime.now(UTC).isoformat(timespec="microseconds")
        key = AccessKey(
            identifier,
            name,
            role,
            tuple(workspaces),
            salt.hex(),
            _hash(secret, salt),
            created,
            where,
        )
        self._write({**self._current(), identifier: key})
        return key, f"{_PREFIX}_{identifier}_{secret}"

    def remove(self, name: str) -> AccessKey:
        """Delete the key with this id or name, and return it.

        Raises UnknownName if no key, or more than one, has the name.
        """
        known = dict(self._current())
        found = [key for key in known.values() if name in (key.id, key.name)]
        if len(found) != 1:
            raise UnknownName("key", name, [key.id for key in found or known.values()])
        del known[found[0].id]
        self._write(known)
        return found[0]

    def _current(self) -> Mapping[str, AccessKey]:
        with self._lock:
            stamp = self._file_stamp()
            if stamp != self._stamp:
                self._keys = self._read() if stamp else {}
                self._stamp = stamp
            return self._keys

    def _file_stamp(self) -> tuple[int, int, int] | None:
        """Return values that change with the file, or None if it does not exist."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable("read", error) from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> dict[str, AccessKey]:
        try:
            listed = json.loads(self.path.read_text(encoding="utf-8"))["keys"]
            keys = [
                AccessKey(
                    **{
                        **item,
                        "role": KeyRole.READ if item.get("where") else KeyRole(item["role"]),
                        "workspaces": tuple(item["workspaces"]),
                    }
                )
                for item in listed
            ]
        except OSError as error:
            raise self._unusable("read", error) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigError(
                f"The key file `{self.path}` is damaged.",
                fix="Restore it, or delete it and add the keys again: knotwork keys add",
            ) from error
        return {key.id: key for key in keys}

    def _write(self, keys: Mapping[str, AccessKey]) -> None:
        text = json.dumps({"keys": [asdict(key) for key in keys.values()]}, indent=1)
        try:
            with replace_file(self.path, mode=FILE_MODE) as file:
                file.write(text.encode())
        except OSError as error:
            raise self._unusable("write", error) from error

    def _unusable(self, action: str, error: OSError) -> ConfigError:
        return ConfigError(
            f"Cannot {action} the key file `{self.path}`: {error.strerror or error}.",
            fix="Choose another file with the setting service.keys.",
        )


def keys_beside(path: Path) -> Path:
    """Return the key file for a served folder or index."""
    return hidden_file_beside(path, KEYS_FILE)


def hidden_file_beside(path: Path, name: str) -> Path:
    """Return a hidden file of the server: inside a served folder, or beside a served index."""
    return path / name if path.is_dir() else path.with_name(f".{path.stem}{name}")


def _hash(secret: str, salt: bytes) -> str:
    return blake2b(secret.encode(), salt=salt, person=_PERSON, digest_size=32).hexdigest()


_WORKSPACE_NAME = re.compile(r"[^\W_][\w.-]{0,62}[\w-]|[^\W_]")

WORKSPACE_NAME_RULE = (
    "Use 1 to 64 letters, digits, `_`, `-` and `.`; begin with a letter or digit, and do not end "
    "with a dot."
)


def is_workspace_name(name: str) -> bool:
    """Return True if this is a valid name for a workspace."""
    return _WORKSPACE_NAME.fullmatch(name) is not None


CHECK_INTERVAL_S = 1.0
"""Time between two checks of the keys of open requests, in seconds."""


@dataclass(slots=True, eq=False)
class OpenRequest:
    """A request in progress; ``is_revoked`` is set when its key was removed."""

    key: AccessKey
    task: asyncio.Task[object]
    is_revoked: bool = False


class OpenRequests:
    """The requests in progress of one server. Use it in one event loop only."""

    def __init__(self) -> None:
        self._open: set[OpenRequest] = set()

    @contextmanager
    def track(self, key: AccessKey) -> Iterator[OpenRequest]:
        """Track the request of the current task until the block ends."""
        task = asyncio.current_task()
        assert task is not None, "requests run in tasks"
        request = OpenRequest(key, task)
        self._open.add(request)
        try:
            yield request
        finally:
            self._open.discard(request)

    def end_revoked(self, is_valid: Callable[[AccessKey], bool]) -> None:
        """Cancel the requests whose keys are no longer valid."""
        valid = {key: is_valid(key) for key in {request.key for request in self._open}}
        for request in self._open:
            if not valid[request.key] and not request.is_revoked:
                request.is_revoked = True
                request.task.cancel()

    async def watch(self, is_valid: Callable[[AccessKey], bool]) -> None:
        """Call `end_revoked` about once a second, forever."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            self.end_revoked(is_valid)
