"""Find parts by name: those of Knotwork, and plugins of installed distributions.

A `Registry` has the parts of one kind. A part is an `Entry`: a name, and the target
``module:attribute`` that makes the part, imported on first use. Built-in parts are those of the
core, which a module lists, and those of the extensions, each of which lists its own in a file
``parts.txt``. Plugins are entry points in the group of a registry; they are looked up when a name
is not built in, or when all names are listed. A program can also register a part of its own, which
needs no installation.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from knotwork.errors import ConfigError, UnknownName

GROUP_PREFIX = "knotwork."
CORE = "knotwork"
"""The distribution of the parts that are built in."""
PROGRAM = "this program"
"""In place of the distribution, for parts that were registered and not installed."""

MODELS = frozenset({"embedder", "model", "reranker"})
"""The arguments that a part may need, and that may be missing in an installation."""

Part = TypeVar("Part")

_EXTENSIONS = Path(__file__).with_name("_extensions")
_GROUP = re.compile(r"^\[(\w+)\]\n", re.MULTILINE)
_PART = re.compile(r"^([\w-]+) = (\S+) ?(\w*)\n(?:[ ]+(.+))?", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_LONGEST_REASON = 300
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Entry:
    """The name of a part, the target that makes it, and the distribution that it is from.

    ``summary`` is a one-line description. ``needs`` are the models, such as "embedder", without
    which the part cannot work. Those of a plugin are read from its target: see `describe`.
    """

    name: str
    target: str
    summary: str = ""
    needs: frozenset[str] = frozenset()
    distribution: str = CORE
    version: str = ""

    @property
    def is_plugin(self) -> bool:
        """Whether the part is not built in."""
        return self.distribution != CORE

    @classmethod
    def read(cls, table: str) -> tuple[Self, ...]:
        """Return the entries of lines ``NAME = MODULE:ATTRIBUTE NEEDS``, each above its summary."""
        return tuple(
            cls(name, target, summary, needs=frozenset(needs.split()))
            for name, target, needs, summary in _PART.findall(table)
        )

    @property
    def origin(self) -> str:
        """The distribution with its version, as in "knotwork-ini 0.1.0"."""
        return f"{self.distribution} {self.version}".strip()


class Registry(Generic[Part]):
    """The parts of one kind by name; built-in parts and plugins are entries of the same form.

    ``group`` is the group of their entry points, ``kind`` names a part in errors, ``protocol`` is
    what each part implements. A target is called with those of the offered arguments that it
    declares as parameters. ``protocol`` is None if targets are not called. Names in ``reserved``
    cannot be used. ``per_store`` says that a part belongs to a store, so that only a target can be
    registered and no part that is made already.
    """

    def __init__(
        self,
        group: str,
        builtin: Iterable[Entry],
        *,
        kind: str,
        protocol: type | None,
        reserved: Collection[str] = (),
        per_store: bool = False,
    ) -> None:
        self.group = GROUP_PREFIX + group
        self.kind = kind
        self.revision = 0
        """The number of registrations so far."""
        self._protocol = protocol
        self._reserved = reserved
        self._per_store = per_store
        self._registered: dict[str, object] = {}
        self._core: dict[str, Entry] = {}
        self._add(builtin, self._core)

    @cached_property
    def _builtin(self) -> dict[str, Entry]:
        """The parts of the core and of the extensions, whose files are read on first use."""
        found = dict(self._core)
        self._add(extension_parts().get(self.group.removeprefix(GROUP_PREFIX), ()), found)
        return found

    def _add(self, entries: Iterable[Entry], found: dict[str, Entry]) -> None:
        for entry in entries:
            self._check_name(entry, found)
            found[entry.name] = entry

    def _check_name(self, entry: Entry, others: Mapping[str, Entry]) -> None:
        """Raise ConfigError if the name is invalid, reserved or that of another entry."""
        if not _NAME.fullmatch(entry.name):
            raise self.fault(
                entry,
                "its name is invalid: a name starts with a letter and has letters, digits, `-` "
                "and `_`",
            )
        if entry.name in self._reserved:
            raise self.fault(entry, "its name is reserved by Knotwork")
        if entry.name in others:
            other = others[entry.name]
            raise self.fault(
                entry,
                f"{other.origin} has a {self.kind} of this name too",
                fix="Register it under another name."
                if entry.distribution == PROGRAM
                else f"Uninstall {entry.distribution}"
                + (f" or {other.distribution}." if other.is_plugin else "."),
            )

    @cached_property
    def _plugins(self) -> tuple[dict[str, Entry], dict[str, ConfigError]]:
        """The plugins that can be used, and the errors of all others, by name.

        Two plugins of one name are both refused: which of them is found first is chance.
        """
        accepted: dict[str, Entry] = {}
        refused: dict[str, ConfigError] = {}
        for entry in installed_plugins().get(self.group, ()):
            try:
                self._check_name(entry, {**self._builtin, **accepted})
                accepted[entry.name] = entry
            except ConfigError as error:
                refused.setdefault(entry.name, error)
        return {name: accepted[name] for name in accepted if name not in refused}, refused

    def register(self, name: str, part: object) -> None:
        """Add a part of this program: a target, or the part itself unless it is made ``per_store``.

        Replaces a part that was registered under this name before. Raises ConfigError for an
        invalid name, that of a built-in part or an installed plugin, and a part that lacks a member
        of the protocol.
        """
        entry = Entry(name, _describe_object(part), distribution=PROGRAM)
        accepted, refused = self._plugins
        known = {key: accepted[key] for key in accepted if key not in self._registered}
        self._check_name(entry, {**self._builtin, **known})
        is_target = isinstance(part, type) or inspect.isroutine(part) or self._protocol is None
        if not is_target:
            self.check(part)
            if self._per_store:
                raise ConfigError(
                    f"A {self.kind} that is made already cannot be registered: each filter needs "
                    "one of its own.",
                    fix=f"Register the class `{type(part).__name__}`, or a function that makes it.",
                )
        target = part if is_target else lambda: part
        self._check_target(entry, target)
        refused.pop(name, None)
        accepted[name] = entry
        self._registered[name] = target
        self.revision += 1

    def registered(self) -> dict[str, object]:
        """Return the targets of the parts of this program by name, to register them elsewhere."""
        return dict(self._registered)

    def refuse(self, name: str, error: ConfigError) -> None:
        """Refuse a plugin: using its name raises this error from now on."""
        accepted, refused = self._plugins
        accepted.pop(name, None)
        refused[name] = error

    def fault(self, entry: Entry, reason: str, *, fix: str = "") -> ConfigError:
        """Return the error for a part that cannot be used; ``reason`` follows a colon."""
        return ConfigError(
            f"The {self.kind} `{entry.name}` of {entry.origin} cannot be used: {reason}.",
            fix=fix or _remedy(entry),
        )

    def __contains__(self, name: str) -> bool:
        if name in self._builtin:
            return True
        if name in self._reserved or not _NAME.fullmatch(name):
            return False
        return any(name in found for found in self._plugins)

    def names(self, *, plugins: bool = True) -> list[str]:
        """Return the names that can be used, sorted; with ``plugins=False`` those built in."""
        return sorted({*self._builtin, *(self._plugins[0] if plugins else ())})

    def find(self, name: str) -> Entry:
        """Return the entry of a name.

        Raises UnknownName, or ConfigError if the name is that of plugins which were refused.
        """
        if name in self._builtin:
            return self._builtin[name]
        accepted, refused = self._plugins
        if name in refused:
            raise ConfigError(refused[name].message, fix=refused[name].fix)
        if name not in accepted:
            raise UnknownName(self.kind, name, self.names())
        return accepted[name]

    def found(self) -> list[Entry]:
        """Return the entries of all parts: those built in, then plugins, which are not imported."""
        return [*self._builtin.values(), *self._plugins[0].values()]

    def entries(self) -> list[Entry]:
        """Return the descriptions of all parts that can be used, by name.

        Imports plugins; one that cannot be imported is refused.
        """
        found = list(self._builtin.values())
        for name in list(self._plugins[0]):
            try:
                found.append(self.describe(name))
            except ConfigError as error:
                self.refuse(name, error)
        return sorted(found, key=lambda entry: entry.name)

    def describe(self, name: str) -> Entry:
        """Return the entry of a name with its summary and needs; import it if it is a plugin.

        The summary of a plugin is the first line of its docstring, and it needs the models that are
        its parameters without a default. Raises as `load`.
        """
        entry = self.find(name)
        if not entry.is_plugin:
            return entry
        target = self.load(name)
        summary = (inspect.getdoc(target) or "").partition("\n")[0].rstrip(".")
        needs = required_parameters(target) & MODELS if self._protocol else frozenset()
        return replace(entry, summary=summary, needs=needs)

    def faults(self) -> list[ConfigError]:
        """Return the errors of the plugins that cannot be used. Imports all others."""
        self.entries()
        return list(self._plugins[1].values())

    def load(self, name: str) -> Any:  # noqa: ANN401 - a class, a function or a module
        """Import and return the target of a name.

        Raises UnknownName, and ConfigError for a plugin that cannot be imported or whose target
        lacks a method of the protocol.
        """
        entry = self.find(name)
        if name in self._registered:
            return self._registered[name]
        module, _, attribute = entry.target.partition(":")
        try:
            target: Any = import_module(module)
            for step in filter(None, attribute.split(".")):
                target = getattr(target, step)
        except (Exception, SystemExit) as error:
            if not entry.is_plugin:
                raise
            reason = f"importing `{entry.target}` raised {type(error).__name__}: {error}"
            raise self.fault(entry, _one_line(reason)) from error
        self._check_target(entry, target)
        return target

    def _check_target(self, entry: Entry, target: Any) -> None:  # noqa: ANN401 - any object
        if self._protocol is not None:
            if not callable(target):
                raise self.fault(entry, f"`{entry.target}` is neither a class nor a function")
            self._require(entry, target, _members(self._protocol, of_target=target))

    def create(self, name: str, **offered: object) -> Part:
        """Return a new part: call the target with those of the ``offered`` arguments it declares.

        Raises as `load`, and ConfigError for a plugin that requires another argument or makes
        something that lacks a member of the protocol. Errors of the target itself pass through.
        """
        entry, target = self.find(name), self.load(name)
        unknown = required_parameters(target) - offered.keys()
        if unknown:
            raise self.fault(
                entry,
                f"it requires {_listed(unknown)}, but is offered "
                + (f"only {_listed(offered)}" if offered else "nothing"),
            )
        part: Part = target(**{key: offered[key] for key in offered if takes(target, key)})
        assert self._protocol is not None, "parts without a protocol are loaded"
        self._require(entry, part, _members(self._protocol))
        return part

    def check(self, part: object) -> None:
        """Check an object that is given instead of a name. Raises ConfigError."""
        assert self._protocol is not None, "parts without a protocol are loaded"
        missing = _lacking(part, _members(self._protocol))
        if missing:
            raise ConfigError(
                f"A `{type(part).__name__}` is not a valid {self.kind}: it lacks "
                f"{_listed(missing)}.",
                fix=f"Give the name of a {self.kind}, or an object that implements "
                f"`{self._protocol.__name__}`.",
            )

    def _require(self, entry: Entry, part: object, members: Collection[str]) -> None:
        missing = _lacking(part, members)
        if missing:
            protocol = self._protocol.__name__ if self._protocol else ""
            raise self.fault(entry, f"it lacks {_listed(missing)} of `{protocol}`")


@cache
def extension_parts() -> Mapping[str, tuple[Entry, ...]]:
    """Return the parts of the extensions by group, such as "stores".

    The files take the place of entry points of this distribution: to find those takes as long as
    the start of a command, and a program that is frozen or run from its sources has none.
    """
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for file in sorted(_EXTENSIONS.glob("*/parts.txt")):
        pieces = _GROUP.split(file.read_text(encoding="utf-8"))[1:]
        for group, table in zip(pieces[::2], pieces[1::2], strict=True):
            found[group] += Entry.read(table)
    return {group: tuple(entries) for group, entries in found.items()}


@cache
def installed_plugins() -> Mapping[str, tuple[Entry, ...]]:
    """Return the entry points of all installed distributions in groups of Knotwork, by group.

    Of two installations of one distribution, that found first on the path counts, as for imports.
    """
    if not _may_have_plugins():
        return {}
    # Imported here: this takes as long as the start of a command.
    from importlib.metadata import distributions

    found: defaultdict[str, list[Entry]] = defaultdict(list)
    seen: set[str] = set()
    for distribution in distributions():
        if GROUP_PREFIX not in (distribution.read_text("entry_points.txt") or ""):
            continue
        name = distribution.metadata["Name"] or "an unnamed distribution"
        identity = re.sub(r"[-_.]+", "-", name).lower()
        if identity in seen:
            continue
        seen.add(identity)
        for point in distribution.entry_points:
            if point.group.startswith(GROUP_PREFIX):
                target = point.value.partition("[")[0].strip()
                found[point.group].append(
                    Entry(point.name, target, distribution=name, version=distribution.version)
                )
    return {group: tuple(sorted(entries, key=_by_origin)) for group, entries in found.items()}


def _may_have_plugins() -> bool:
    """Return False if no distribution on the path has an entry point in a group of Knotwork."""
    group = f"[{GROUP_PREFIX}".encode()
    for place in map(Path, sys.path):
        if place.is_file():
            return True  # an archive, whose distributions only importlib.metadata can read
        for form in ("*.dist-info", "*.egg-info"):
            for points in place.glob(f"{form}/entry_points.txt"):
                with suppress(OSError):
                    if group in points.read_bytes():
                        return True
    return False


def _remedy(entry: Entry) -> str:
    if entry.distribution == PROGRAM:
        return f"Correct `{entry.target}`, and register it again."
    return f"Update it: pip install --upgrade {entry.distribution}. Or uninstall it."


def _describe_object(part: object) -> str:
    """Return where an object is from, as "module:name"; an object without a name has its type's."""
    named = part if hasattr(part, "__qualname__") else type(part)
    return f"{named.__module__}:{named.__qualname__}"


def _by_origin(entry: Entry) -> tuple[str, str]:
    return entry.distribution, entry.name


def takes(target: Any, name: str) -> bool:  # noqa: ANN401 - any callable
    """Return True if a callable takes a keyword argument of this name."""
    parameters = inspect.signature(target).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def required_parameters(target: Any) -> frozenset[str]:  # noqa: ANN401 - any callable
    """Return the parameters of a callable that have no default."""
    return frozenset(
        name
        for name, parameter in inspect.signature(target).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    )


def _members(protocol: type, *, of_target: object = None) -> list[str]:
    """Return the public members of a protocol.

    With ``of_target``, those that a target has before it is called: methods of a class, and what
    the protocol declares as ClassVar.
    """
    members: dict[str, None] = {}
    for base in reversed(protocol.__mro__):
        if not getattr(base, "_is_protocol", False):
            continue
        hints = inspect.get_annotations(base)
        declared = {name for name in hints if str(hints[name]).startswith("ClassVar")}
        methods = {name for name, value in vars(base).items() if inspect.isfunction(value)}
        if of_target is None:
            wanted = [*hints, *vars(base)]
        elif isinstance(of_target, type):
            wanted = sorted(declared | methods)
        else:
            wanted = sorted(declared)
        members.update(dict.fromkeys(name for name in wanted if not name.startswith("_")))
    return list(members)


def _lacking(part: object, members: Iterable[str]) -> list[str]:
    """Return the members that an object lacks; a property that it has is not evaluated."""
    return [
        name
        for name in members
        if inspect.getattr_static(part, name, _MISSING) is _MISSING and not hasattr(part, name)
    ]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "nothing"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_REASON].rstrip(".")


PARTS: Registry[Any] = Registry("parts", (), kind="part", protocol=None)
"""What extensions add to stores and to a knowledge base, under the names that these ask for."""
