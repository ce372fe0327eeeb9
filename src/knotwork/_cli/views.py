"""Describe as data how the result of a command is shown to a person.

A view is a tuple of parts: templates of lines, `Line`, `Each` and `Table`. A template has fields of
the result, and optional parts: ``"Wrote {folder}: {pages:#page}[, {removed} removed]"``. A field is
a path, such as ``index.documents``; ``{}`` is the result itself, and ``{#}`` the number of the item
of an `Each`. After a colon stands its format:

- ``#page`` or ``#entity/entities``: a number, or the length of a list, with its noun; or without
- ``time``: seconds as a duration; ``excerpt``: a shortened text; ``label``: a key as words
- ``?`` and ``!``: nothing; the optional part is shown if the field is not, or is, empty
- ``.5``: the first five of a list, and how many more there are
- else a format of Python. By default lists and mappings are joined, and thousands are marked.

An optional part is left out if its ``?`` or ``!`` says so or, without these, if its first field
is empty or a count of 0. So is a line that is empty. ``[[`` is a bracket.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from knotwork._text.visible import make_printable


class Line(NamedTuple):
    """A line, printed with a style; a ``note`` goes to standard error."""

    text: str
    style: str = ""
    indent: int = 0
    note: bool = False


class Each(NamedTuple):
    """The parts for up to ``most`` items of a list, and ``more`` for the number of the others."""

    items: str
    parts: tuple[Part, ...]
    most: int | None = None
    more: Part = ""


class Table(NamedTuple):
    """A table with a row for each item of a list.

    ``columns`` are templates of cells by their header, or fields as words: ``path``, or
    ``header=path``. Fields that are places in a tuple have no header, and headers that begin with
    a space are not shown; if none is, there is no line of them.
    """

    items: str
    columns: str | Mapping[str, str]
    indent: int = 0

    def cells(self) -> dict[str, str]:
        """Return the templates of the cells by header."""
        if not isinstance(self.columns, str):
            return dict(self.columns)
        pairs = [word.rpartition("=")[::2] for word in self.columns.split()]
        return {
            (name or path.partition(":")[0]).replace("_", " "): f"{{{path}}}"
            for name, path in pairs
        }


Part = str | Line | Each | Table


def each(items: str, *parts: Part, most: int | None = None, more: Part = "") -> Each:
    """Return the parts for each item of a list."""
    return Each(items, parts, most, more)


def note(text: str, style: str = "dim") -> Line:
    """Return a line for standard error."""
    return Line(text, style, note=True)


NOTES = each("notes", note("{}", "yellow"))
"""The notes of a result."""

ROW_COUNT = note("[{rows:#row}][{rows:!}No rows.][{truncated:?} (--limit allows no more)]")
"""The number of rows of a statement."""


def find(result: Any, path: str) -> Any:  # noqa: ANN401  of any type
    """Return the value at a path in mappings, tuples and attributes; "" is the result itself.

    What is below None is None. Raises KeyError, IndexError or AttributeError for a wrong path.
    """
    for name in filter(None, path.split(".")):
        if result is None:
            return None
        if isinstance(result, Mapping):
            result = result[name]
        else:
            result = result[int(name)] if name.isdigit() else getattr(result, name)
    return result


_TOKEN = re.compile(r"\{([\w.#]*)(?::([^}]+))?\}|(\[\[|\[|\])|([^{\[\]]+)")


@cache
def _parse(template: str) -> tuple[Any, ...]:
    """Return the nodes of a template: texts, fields as (path, format), and lists of nodes."""
    levels: list[list[Any]] = [[]]
    for field, spec, bracket, text in _TOKEN.findall(template):
        if bracket == "[":
            levels.append([])
        elif bracket == "]" and len(levels) > 1:
            optional = levels.pop()
            levels[-1].append(optional)
        elif bracket or text:
            levels[-1].append(bracket[:1] or text)
        else:
            levels[-1].append((field, spec))
    return tuple(levels[0])


def fill(template: str, result: object, number: int = 0) -> str:
    """Return a template filled with the fields of a result, which has a ``number`` in its list."""
    return _fill(_parse(template), result, number)[0]


def fill_all(templates: Collection[str], result: object) -> list[str]:
    """Return the filled templates that are not empty."""
    return [text for template in templates if (text := fill(template, result))]


def _fill(nodes: Collection[Any], result: object, number: int) -> tuple[str, bool]:
    """Return the text of nodes, and whether it is to be shown if it is optional."""
    texts: list[str] = []
    shown: list[bool] = []
    has_guard = False
    for node in nodes:
        if isinstance(node, str):
            texts.append(node)
        elif isinstance(node, list):
            text, is_shown = _fill(node, result, number)
            texts.append(text if is_shown else "")
        else:
            path, spec = node
            value = number if path == "#" else find(result, path)
            is_empty = not value and not isinstance(value, float | Decimal)
            if spec in {"?", "!"}:
                shown = [*(shown if has_guard else ()), is_empty == (spec == "!")]
                has_guard = True
            elif not shown:
                shown = [not is_empty]
            texts.append(show(value, spec))
    return "".join(texts), all(shown)


def show(value: Any, spec: str = "") -> str:  # noqa: ANN401  of any type
    """Return a value as one line of text; the format is that of a field of a template."""
    if spec in {"?", "!"} or value is None:
        return ""
    if spec.startswith("#"):
        number = len(value) if isinstance(value, Collection) else value
        one, _, many = spec[1:].partition("/")
        return count_of(number, one, many) if one else f"{number:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{show(key)} {show(item, spec)}" for key, item in value.items())
    if spec in _FORMATS:
        return _FORMATS[spec](value)
    if isinstance(value, Collection) and not isinstance(value, str):
        most = int(spec[1:]) if re.fullmatch(r"\.\d+", spec) else None
        items = [show(item, "" if most else spec) for item in value]
        more = f" and {len(items) - most:,} more" if most and len(items) > most else ""
        return ", ".join(items[:most]) + more
    spec = spec or ("," if isinstance(value, int) else "")
    return join_lines(format(value, spec))


def join_lines(text: str) -> str:
    """Return a text as one printable line."""
    return " ".join(make_printable(text).split())


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, such as "1,024 chunks". ``many`` is an irregular plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def format_seconds(seconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


EXCERPT_LENGTH = 320
_MARKUP = re.compile(
    r"^[ >]*(?:(?:```|~~~)\S*|\|(?:[ :]*-{3,}[ :]*\|)+)$|^#{1,6} (?=\S)", re.MULTILINE
)


def shorten_excerpt(text: str) -> str:
    """Return a text as one printable line of at most `EXCERPT_LENGTH` characters, cut at a word.

    Marks of headings, fences of code and the line below the header of a table are left out.
    """
    line = join_lines(_MARKUP.sub("", text))
    if len(line) <= EXCERPT_LENGTH:
        return line
    cut = line[:EXCERPT_LENGTH]
    word_end = cut.rfind(" ")
    # Chinese has no spaces to cut at; a space far back would discard too much.
    return (cut[:word_end] if word_end > EXCERPT_LENGTH * 0.8 else cut) + " …"


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "time": format_seconds,
    "excerpt": shorten_excerpt,
    "label": lambda name: name.replace("_", " ").capitalize(),
}
