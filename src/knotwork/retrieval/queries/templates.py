"""A person's own queries: statements with slots, what each is for, and ways to ask for it.

A file in TOML::

    [[template]]
    name = "films of a director"
    description = "films that a person directed"
    questions = ["Which films did Ann Lee direct?"]
    statement = "MATCH (f:Film)-[:DIRECTED_BY]->(p:Person {name: $person}) RETURN f.title"
    slots.person = { kind = "Person", property = "name" }

A slot without a kind has a ``type``: text, integer, number or date; ``default`` makes it optional.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knotwork.errors import ConfigError
from knotwork.records import PropertyValue

SLOT_TYPES = ("text", "integer", "number", "date")
_PARAMETER = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class SlotShape:
    """What fills a slot: a stored value of a kind's property, or a value of a type."""

    kind: str = ""
    property: str = ""
    type: str = "text"
    default: PropertyValue = None

    def is_stored(self) -> bool:
        """Return whether only stored values fill the slot."""
        return bool(self.property)


@dataclass(frozen=True, slots=True)
class Template:
    """A statement with slots, and how it is asked for."""

    name: str
    description: str
    statement: str
    slots: Mapping[str, SlotShape] = field(default_factory=dict)
    questions: tuple[str, ...] = ()


def read_templates(path: Path) -> tuple[Template, ...]:
    """Read templates. Raises ConfigError that says what is wrong with which."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The templates in `{path}` cannot be read: {error}.") from error
    records = data.get("template")
    if not isinstance(records, list) or not records:
        raise ConfigError(f"`{path}` holds no [[template]].")
    return tuple(
        make_template(record, f"{path}, template {n}") for n, record in enumerate(records, 1)
    )


def make_template(record: Mapping[str, Any], where: str) -> Template:
    """Return the template of a record. Raises ConfigError for one whose slots do not fit."""
    unknown = record.keys() - {"name", "description", "statement", "slots", "questions"}
    if unknown or not isinstance(record.get("statement"), str):
        wrong = f"has an unknown key `{min(unknown)}`" if unknown else "has no statement"
        raise ConfigError(f"{where} {wrong}.")
    statement = str(record["statement"])
    slots = {
        str(name): _make_slot(given, f"{where}, slot {name}")
        for name, given in dict(record.get("slots", {})).items()
    }
    wanted = set(_PARAMETER.findall(statement))
    if wanted != set(slots):
        odd = ", ".join(f"`{name}`" for name in sorted(wanted ^ set(slots)))
        raise ConfigError(f"{where}: {odd} must be both in the statement, as $name, and a slot.")
    return Template(
        str(record.get("name", where)),
        str(record.get("description", "")),
        statement,
        slots,
        tuple(str(question) for question in record.get("questions", ())),
    )


def _make_slot(given: object, where: str) -> SlotShape:
    if not isinstance(given, Mapping):
        raise ConfigError(f'{where} must be a table, as {{ kind = "Person", property = "name" }}.')
    shape = SlotShape(
        str(given.get("kind", "")),
        str(given.get("property", "")),
        str(given.get("type", "text")),
        given.get("default"),
    )
    if shape.type not in SLOT_TYPES:
        raise ConfigError(f"{where}: the type is one of {', '.join(SLOT_TYPES)}.")
    return shape
