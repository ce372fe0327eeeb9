"""Cypher templates: a user's own queries, chosen and filled by rules or by a model.

A file of templates in TOML::

    [[template]]
    name = "films of a director"
    description = "films that a person directed"
    questions = ["Which films did Ann Lee direct?"]
    statement = "MATCH (f:Film)-[:DIRECTED_BY]->(p:Person {name: $person}) RETURN f.title"
    slots.person = { kind = "Person", property = "name" }

A slot without a kind has a ``type``: text, integer, number or date. ``default`` makes it optional.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knotwork._extensions.queries.model_translators import (
    ROOM,
    Example,
    ExampleBook,
    describe_stored_names,
    mask_values,
)
from knotwork._extensions.queries.query_plans import (
    Attempt,
    LinkedQuestion,
    QueryTarget,
    Statement,
    Translator,
)
from knotwork._extensions.queries.query_retrievers import GraphStatementRetriever
from knotwork._extensions.queries.target_schema import (
    StoredValue,
    StoredValues,
    find_mentions,
)
from knotwork._inference.chat import ChatModel, ChatReply, complete_checked
from knotwork._inference.embedder import Embedder
from knotwork._inference.prompt_material import escape_tags, restore
from knotwork._retrieval.base import bounded
from knotwork._retrieval.question import request_about
from knotwork._text.dates import read_date
from knotwork._text.names import normal_form
from knotwork.errors import ConfigError, Unparsable
from knotwork.records import PropertyValue

STAGE = "template"
LEAST_LIKENESS = 0.25
"""Minimum similarity of a question to the examples of a template, from 0 to 1."""
MOST_OFFERED = 12
_COVER_WORTH = 0.5
_SUREST = 0.9
_LINE = re.compile(r"^[^\w\n]*+(\d{1,3})\b(.*)$", re.MULTILINE)
_NONE = re.compile(r"\W*(?:none|无|没有)\W*", re.IGNORECASE)


class TemplateBook:
    """Ranks templates for a question by words, vectors, and the values that fit their slots."""

    def __init__(
        self,
        templates: Sequence[Template],
        values: StoredValues,
        *,
        embedder: Embedder | None = None,
    ) -> None:
        texts = [(t, text) for t in templates for text in (t.description, *t.questions)]
        self._owners = [(template, text) for template, text in texts if text.strip()]
        masked = [mask_values(text, find_mentions(text, values)) for _, text in self._owners]
        examples = [Example(text, "") for text in masked]
        self._book = ExampleBook(examples, embedder=embedder)

    def rank(self, asked: LinkedQuestion) -> list[tuple[Template, float]]:
        """Return the templates that a question may mean, with how well each fits."""
        best: dict[str, tuple[Template, float]] = {}
        likeness = self._book.likeness(asked.text, asked.mentions)
        for number in sorted(range(len(likeness)), key=lambda n: -likeness[n]):
            like, template = float(likeness[number]), self._owners[number][0]
            fit = like * (1 - _COVER_WORTH + _COVER_WORTH * covered(template, asked))
            if like >= LEAST_LIKENESS and fit > best.get(template.name, (template, 0.0))[1]:
                best[template.name] = template, fit
        return sorted(best.values(), key=lambda item: (-item[1], item[0].name))


class MatchingTranslator:
    """Chooses the best template whose slots the question fills."""

    def __init__(self, book: TemplateBook) -> None:
        self._book = book

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the best filled template that was not tried."""
        tried = {attempt.statement.text for attempt in attempts}
        for template, fit in self._book.rank(asked):
            values = fill_slots(template, asked)
            if values is not None and template.statement not in tried:
                sureness = min(_SUREST, fit)
                return Statement(template.statement, values, f"template {template.name}", sureness)
        return None


class ChoosingTranslator:
    """Lets a model choose among the best templates and fill the slots."""

    def __init__(self, book: TemplateBook, values: StoredValues, model: ChatModel) -> None:
        self._book = book
        self._values = values
        self._model = model

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the template that the model chooses, or None if it chooses none or was asked
        before.

        Raises ModelError as `complete_checked`.
        """
        offered = [template for template, _ in self._book.rank(asked)[:MOST_OFFERED]]
        if attempts or not offered:
            return None
        lines = [
            f"{n}. {t.description or t.name} (slots: {', '.join(t.slots) or 'none'})"
            for n, t in enumerate(offered, start=1)
        ]
        request = request_about(
            asked.text,
            ROOM,
            "template",
            self._model,
            stage=STAGE,
            output_tokens=120,
            schema=escape_tags("\n".join(lines)),
            names=describe_stored_names(asked),
            question=escape_tags(asked.text.strip()),
        )
        chosen = complete_checked(self._model, request, lambda reply: parse_choice(reply, offered))
        if chosen is None:
            return None
        template, given = chosen
        values = align_values(template, given, self._values)
        if values is None:
            return None
        return Statement(template.statement, values, f"template {template.name}", _SUREST)


def parse_choice(
    reply: ChatReply, offered: Sequence[Template]
) -> tuple[Template, dict[str, str]] | None:
    """Return the chosen template and the texts of its slots, or None if the reply chooses none.

    Raises Unparsable.
    """
    found = _LINE.search(restore(reply.text))
    if found is None:
        if _NONE.fullmatch(reply.text):
            return None
        raise Unparsable("The reply does not start with the number of a query.")
    if not 1 <= int(found[1]) <= len(offered):
        raise Unparsable(f"Query {found[1]} does not exist. Valid numbers: 1 to {len(offered)}.")
    parts = [part.partition("=") for part in found[2].split("|")]
    return offered[int(found[1]) - 1], {k.strip(): v.strip() for k, eq, v in parts if eq}


class CypherTemplatesRetriever(GraphStatementRetriever):
    """Finds rows of a graph by one of a user's query templates.

    ``templates`` are templates or the TOML file that contains them.
    """

    name = "cypher_templates"

    @bounded
    class Options(GraphStatementRetriever.Options):
        templates: Sequence[Template] | str | Path = ()

    options: Options

    def _prepare(self) -> None:
        templates = self.options.templates
        if isinstance(templates, str | Path):
            templates = read_templates(Path(templates))
        self._templates = tuple(templates)

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model's choice, if there is a model, then the matcher."""
        values = target.values()
        if self._made is None or self._made[0] is not values:
            book = TemplateBook(self._templates, values, embedder=self._embedder)
            made: list[Translator] = [MatchingTranslator(book)]
            if self._model is not None:
                made.insert(0, ChoosingTranslator(book, values, self._model))
            self._made = values, made
        return self._made[1]


SLOT_TYPES = ("text", "integer", "number", "date")
_PARAMETER = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class SlotShape:
    """What fills a slot: a stored value of a kind's ``property``, or else a value of a type."""

    kind: str = ""
    property: str = ""
    type: str = "text"
    default: PropertyValue = None

    def value_in(self, stored: Iterable[StoredValue]) -> PropertyValue:
        """Return the first value of this kind and property, or None."""
        wanted = self.kind, self.property
        return next((v.value for v in stored if (v.kind, v.property) == wanted), None)


@dataclass(frozen=True, slots=True)
class Template:
    """A statement with slots, and examples of questions that it answers."""

    name: str
    description: str
    statement: str
    slots: Mapping[str, SlotShape] = field(default_factory=dict)
    questions: tuple[str, ...] = ()


def read_templates(path: Path) -> tuple[Template, ...]:
    """Read templates from a TOML file. Raises ConfigError with the template that is invalid."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"The templates in `{path}` cannot be read: {error}.") from error
    records = data.get("template")
    if not isinstance(records, list) or not records:
        raise ConfigError(f"`{path}` contains no [[template]].")
    return tuple(
        make_template(record, f"{path}, template {n}") for n, record in enumerate(records, 1)
    )


def make_template(record: Mapping[str, Any], where: str) -> Template:
    """Return the template of a record. Raises ConfigError if it is invalid."""
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
        raise ConfigError(f"{where}: unknown type `{shape.type}`. Valid: {', '.join(SLOT_TYPES)}.")
    return shape


_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_QUOTED = re.compile(r"[\"“「《'‘]([^\"”」》'’]+)[\"”」》'’]")


def fill_slots(template: Template, asked: LinkedQuestion) -> dict[str, PropertyValue] | None:
    """Return values for all slots of a template, or None if the question lacks one.

    Stored values fill slots of their kind and property in the order of the question, each once.
    """
    found: dict[str, PropertyValue] = {}
    used: set[int] = set()
    unnamed = mask_values(asked.text, asked.mentions, " ")
    numbers = [match[0].replace(",", "") for match in _NUMBER.finditer(unnamed)]
    for name, shape in template.slots.items():
        value = _stored(shape, asked, used) if shape.property else _typed(shape, asked, numbers)
        if value is None:
            value = shape.default
        if value is None:
            return None
        found[name] = value
    return found


def align_values(
    template: Template, given: Mapping[str, str], values: StoredValues
) -> dict[str, PropertyValue] | None:
    """Return a model's values for slots as they are stored, or None if one is missing."""
    found: dict[str, PropertyValue] = {}
    for name, shape in template.slots.items():
        text = given.get(name, "").strip().strip("\"'“”")
        if not text:
            if shape.default is None:
                return None
            found[name] = shape.default
            continue
        if not shape.property:
            found[name] = _cast(shape, text)
            continue
        exact = [item for same in values.exact([normal_form(text)]).values() for item in same]
        near = [n.stored for m in find_mentions(f'"{text}"', values) for n in m.found]
        value = shape.value_in([*exact, *near])
        found[name] = text if value is None else value
    return found


def covered(template: Template, asked: LinkedQuestion) -> float:
    """Return the share of the question's stored values that a template can use."""
    if not asked.mentions:
        return 1.0 if not template.slots else 0.0
    wanted = {(s.kind, s.property) for s in template.slots.values() if s.property}
    usable = sum(
        any((n.stored.kind, n.stored.property) in wanted for n in m.found) for m in asked.mentions
    )
    return usable / len(asked.mentions)


def _stored(shape: SlotShape, asked: LinkedQuestion, used: set[int]) -> PropertyValue:
    for number, mention in enumerate(asked.mentions):
        value = None if number in used else shape.value_in(near.stored for near in mention.found)
        if value is not None:
            used.add(number)
            return value
    return None


def _typed(shape: SlotShape, asked: LinkedQuestion, numbers: list[str]) -> PropertyValue:
    if shape.type == "date":
        return read_date(asked.text) or None
    if shape.type in {"integer", "number"}:
        return _cast(shape, numbers.pop(0)) if numbers else None
    quoted = _QUOTED.search(asked.text)
    return quoted[1] if quoted else None


def _cast(shape: SlotShape, text: str) -> PropertyValue:
    if shape.type == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if shape.type in {"integer", "number"}:
        try:
            return float(text)
        except ValueError:
            return None
    return (read_date(text) or text) if shape.type == "date" else text
