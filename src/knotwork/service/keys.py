"""Access keys with roles and workspaces, and valid workspace names.

A key is ``kw_ID_SECRET``; the file stores only hashes. The secret has 256 random bits, so one round
of a salted hash protects it as well as a slow one.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path

from knotwork.errors import ConfigError, UnknownName

ALL_WORKSPACES = "*"
KEYS_FILE = ".knotwork-keys.json"

_PREFIX = "kw"
_KEY = re.compile(rf"{_PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
_PERSON = b"knotwork-key"


class KeyRole(StrEnum):
    """What a key may do; each role may do what those before it may."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, needed: KeyRole) -> bool:
        """Tell whether this role may do what another one may."""
        order = list(KeyRole)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key as it is kept; ``workspaces`` are names, or `ALL_WORKSPACES`."""

    id: str
    name: str
    role: KeyRole
    workspaces: tuple[str, ...]
    salt: str
    hash: str
    created: str

    def may_see(self, workspace: str) -> bool:
        """Tell whether the key is bound to this workspace."""
        return ALL_WORKSPACES in self.workspaces or workspace in self.workspaces

    @property
    def sees_all(self) -> bool:
        """Whether the key is bound to all workspaces."""
        return ALL_WORKSPACES in self.workspaces


LOCAL_USER = AccessKey("", "local", KeyRole.ADMIN, (ALL_WORKSPACES,), "", "", "")
"""Whoever asks from this machine while there are no keys."""


class KeyFile:
    """The keys of one server in a file that only its owner may read.

    It is read again whenever it changes, so that a key counts, or does no more, at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._keys: Mapping[str, AccessKey] = {}

    def listed(self) -> list[AccessKey]:
        """Return all keys, the oldest first. Raises ConfigError for a file that is damaged."""
        return sorted(self._current().values(), key=lambda key: (key.created, key.id))

    def find(self, token: str) -> AccessKey | None:
        """Return the key that this is, or None."""
        parts = _KEY.fullmatch(token)
        known = self._current().get(parts[1]) if parts else None
        if known is None or parts is None:
            return None
        given = _hash(parts[2], bytes.fromhex(known.salt))
        return known if hmac.compare_digest(given, known.hash) else None

    def add(self, name: str, *, role: KeyRole, workspaces: Sequence[str]) -> tuple[AccessKey, str]:
        """Make a key, and return it with its text, which is kept nowhere.

        Raises ConfigError when the file cannot be read or written.
        """
        identifier, secret, salt = secrets.token_hex(6), secrets.token_urlsafe(32), os.urandom(16)
        created = datetime.now(UTC).isoformat(timespec="microseconds")
        key = AccessKey(
            identifier, name, role, tuple(workspaces), salt.hex(), _hash(secret, salt), created
        )
        self._write({**self._current(), identifier: key})
        return key, f"{_PREFIX}_{identifier}_{secret}"

    def remove(self, name: str) -> AccessKey:
        """Remove the key of this id or name, and return it. Raises UnknownName, also for a name
        that several keys have.
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
            stamp = self._look()
            if stamp != self._stamp:
                self._keys = self._read() if stamp else {}
                self._stamp = stamp
            return self._keys

    def _look(self) -> tuple[int, int, int] | None:
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
                        "role": KeyRole(item["role"]),
                        "workspaces": tuple(item["workspaces"]),
                    }
                )
                for item in listed
            ]
        except OSError as error:
            raise self._unusable("read", error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"The file of keys `{self.path}` is damaged.",
                fix="Restore it, or remove it and add the keys anew: knotwork keys add",
            ) from error
        return {key.id: key for key in keys}

    def _write(self, keys: Mapping[str, AccessKey]) -> None:
        """Replace the file at once, so that no reader sees half of it."""
        text = json.dumps({"keys": [asdict(key) for key in keys.values()]}, indent=1)
        hidden_file_beside = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        try:
            opened = os.open(hidden_file_beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(opened, "w", encoding="utf-8") as stream:
                stream.write(text)
            hidden_file_beside.replace(self.path)
        except OSError as error:
            raise self._unusable("written", error) from error

    def _unusable(self, how: str, error: OSError) -> ConfigError:
        return ConfigError(
            f"The file of keys `{self.path}` cannot be {how}: {error.strerror or error}.",
            fix="Name another one: service.keys",
        )


def keys_beside(place: Path) -> Path:
    """Return the file of keys of what is served: in a folder, or beside an index."""
    return hidden_file_beside(place, KEYS_FILE)


def hidden_file_beside(place: Path, name: str) -> Path:
    """Return a hidden file of the server in a folder that is served, or beside an index."""
    return place / name if place.is_dir() else place.with_name(f".{place.stem}{name}")


def _hash(secret: str, salt: bytes) -> str:
    return blake2b(secret.encode(), salt=salt, person=_PERSON, digest_size=32).hexdigest()


_WORKSPACE_NAME = re.compile(r"[^\W_][\w.-]{0,62}[\w-]|[^\W_]")

WORKSPACE_NAME_RULE = (
    "A name has 1 to 64 letters, digits, `_`, `-` and `.`, begins with a letter or a digit, and "
    "does not end with a dot."
)


def is_workspace_name(name: str) -> bool:
    """Tell whether this can be the name of a workspace."""
    return _WORKSPACE_NAME.fullmatch(name) is not None
