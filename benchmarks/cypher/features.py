"""Scenarios of the openCypher TCK, and the values in their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from knotwork._extensions.cypher.language.property_graph import (
    GraphNode,
    GraphRelationship,
    PropertyGraph,
    Value,
)
from knotwork._extensions.cypher.language.property_graph import GraphPath as Walk
from knotwork._extensions.cypher.language.values import Temporal


@dataclass
class Scenario:
    """One scenario with its examples filled in."""

    folder: str
    name: str
    preparations: list[str] = field(default_factory=list)
    parameters: list[list[str]] = field(default_factory=list)
    query: str = ""
    outcome: str = ""
    table: list[list[str]] = field(default_factory=list)
    graph: str = ""
    procedures: bool = False


def read_features(root: Path) -> Iterator[Scenario]:
    """Yield all scenarios below a folder."""
    for path in sorted(root.rglob("*.feature")):
        yield from _read_feature(path, str(path.parent.relative_to(root)))


def _read_feature(path: Path, folder: str) -> Iterator[Scenario]:  # noqa: C901 - one a kind of line
    background: list[tuple[str, list[str]]] = []
    blocks: list[tuple[str, list[tuple[str, list[str]]], list[list[str]]]] = []
    steps = background
    examples: list[list[str]] | None = None
    lines = path.read_text(encoding="utf-8").split("\n")
    index = 0
    while index < len(lines):
        line = lines[index].strip()
        index += 1
        if line.startswith("Background:"):
            steps = background
        elif line.startswith(("Scenario:", "Scenario Outline:")):
            steps = []
            blocks.append((line.partition(":")[2].strip(), steps, []))
            examples = None
        elif line.startswith("Examples:"):
            examples = blocks[-1][2]
        elif line.startswith('"""') and steps:
            text = []
            while not lines[index].strip().startswith('"""'):
                text.append(lines[index])
                index += 1
            index += 1
            indent = min((len(t) - len(t.lstrip()) for t in text if t.strip()), default=0)
            steps[-1][1].append("\n".join(t[indent:] for t in text))
        elif line.startswith("|"):
            if examples is not None:
                examples.append(_cells(line))
            else:
                steps[-1][1].append(line)
        elif re.match(r"(Given|When|Then|And|But) ", line):
            steps.append((line.partition(" ")[2], []))
    for name, own, rows in blocks:
        heads = rows[0] if rows else []
        for values in rows[1:] or [[]]:
            filled = dict(zip(heads, values, strict=True))
            yield _scenario(
                folder, f"{path.stem} {name} {values or ''}", [*background, *own], filled
            )


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [cell.strip().replace("\\|", "|").replace("\\\\", "\\") for cell in cells]


def _scenario(  # noqa: C901 - one a kind of step
    folder: str, name: str, steps: list[tuple[str, list[str]]], filled: dict[str, str]
) -> Scenario:
    scenario = Scenario(folder, name)

    def fill(text: str) -> str:
        for key, value in filled.items():
            text = text.replace(f"<{key}>", value)
        return text

    for words, extra in steps:
        given = [fill(text) for text in extra]
        rows = [_cells(fill(text)) for text in extra if text.startswith("|")]
        if words.startswith("having executed"):
            scenario.preparations.append(given[0])
        elif words.startswith("parameters are"):
            scenario.parameters = rows
        elif words.startswith("executing query") and not scenario.query:
            scenario.query = given[0]
        elif words.startswith("the result should be") or "should be raised" in words:
            if not scenario.outcome:
                scenario.outcome, scenario.table = fill(words), rows
        elif words.startswith("the ") and words.endswith("graph"):
            scenario.graph = words.split()[1]
        elif words.startswith("there exists a procedure"):
            scenario.procedures = True
    return scenario


class TableValue:
    """Reads the values in a table of results into tuples that compare."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> object:
        """Return the one value."""
        found = self._value()
        self._space()
        if self._at != len(self._text):
            raise ValueError(self._text)
        return found

    def _space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] == " ":
            self._at += 1

    def _accept(self, mark: str) -> bool:
        self._space()
        if self._text.startswith(mark, self._at):
            self._at += len(mark)
            return True
        return False

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            raise ValueError(f"{self._text} at {self._at}: {mark}")

    def _match(self, pattern: str) -> str | None:
        self._space()
        found = re.compile(pattern).match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found.group()

    def _value(self) -> object:  # noqa: PLR0911 - one a kind
        if self._accept("<"):
            return self._path()
        if self._accept("("):
            return self._node()
        if self._accept("["):
            if self._accept(":"):
                return self._edge()
            items = []
            while not self._accept("]"):
                items.append(self._value())
                self._accept(",")
            return ("list", tuple(items))
        if self._accept("{"):
            return ("map", self._entries())
        if self._accept("'"):
            found = re.compile(r"(?:[^'\\]|\\.)*'").match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            return ("text", re.sub(r"\\(.)", _unescaped, found.group()[:-1]))
        word = self._match(r"[-+\w.]+") or ""
        plain = {"null": ("null",), "true": ("truth", True), "false": ("truth", False)}
        if word in plain:
            return plain[word]
        if re.fullmatch(r"-?\d+", word):
            return ("whole", int(word))
        return ("real", repr(float(word)))

    def _entries(self) -> frozenset[object]:
        found = []
        while not self._accept("}"):
            key = self._match(r"\w+") or ""
            if not key:
                self._expect("`")
                key = self._match(r"[^`]*") or ""
                self._expect("`")
            self._expect(":")
            found.append((key, self._value()))
            self._accept(",")
        return frozenset(found)

    def _node(self) -> object:
        labels = []
        while self._accept(":"):
            labels.append(self._match(r"\w+") or "")
        entries = self._entries() if self._accept("{") else frozenset()
        self._expect(")")
        return ("node", frozenset(labels), entries)

    def _edge(self) -> object:
        kind = self._match(r"\w+") or ""
        entries = self._entries() if self._accept("{") else frozenset()
        self._expect("]")
        return ("edge", kind, entries)

    def _path(self) -> object:
        self._expect("(")
        parts = [self._node()]
        while not self._accept(">"):
            leftward = self._accept("<-")
            if not leftward:
                self._expect("-")
            self._expect("[:")
            edge = self._edge()
            self._expect("-" if leftward else "->")
            self._expect("(")
            parts += [(edge, "left" if leftward else "right"), self._node()]
        return ("path", tuple(parts))


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found.group(1), found.group(1))


def shown(value: Value, graph: PropertyGraph) -> object:  # noqa: PLR0911 - one a kind
    """Return a value of the engine as `TableValue` reads it."""
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, int):
        return ("whole", value)
    if isinstance(value, float):
        return ("real", repr(value))
    if isinstance(value, str | Temporal):
        return ("text", str(value))
    if isinstance(value, Walk):
        return _shown_path(value, graph)
    if isinstance(value, list):
        return ("list", tuple(shown(item, graph) for item in value))
    if isinstance(value, GraphNode):
        return ("node", frozenset(value.labels), _shown_map(value.properties, graph))
    if isinstance(value, GraphRelationship):
        return ("edge", value.type, _shown_map(value.properties, graph))
    return ("map", _shown_map(value, graph))


def _shown_map(values: Value, graph: PropertyGraph) -> frozenset[object]:
    return frozenset((key, shown(value, graph)) for key, value in values.items())


def _shown_path(path: Walk, graph: PropertyGraph) -> object:
    parts = [shown(path.nodes[0], graph)]
    for edge, before, after in zip(path.relationships, path.nodes, path.nodes[1:], strict=False):
        way = "right" if edge.source == before.index else "left"
        parts += [(shown(edge, graph), way), shown(after, graph)]
    return ("path", tuple(parts))


def loosened(value: object) -> object:
    """Return a value with the order of lists left out."""
    if isinstance(value, tuple) and value and value[0] == "list":
        return ("list", tuple(sorted((loosened(item) for item in value[1]), key=repr)))
    return value
