"""Read the styles of a Word document: the role, list and look that they give a paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from knotwork._indexing.loaders.list_numbers import written_number
from knotwork._indexing.loaders.loader import whole_number
from knotwork._indexing.loaders.titles_and_captions import is_monospaced_font

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_NAME = re.compile(r"(?:heading|überschrift|titre|标题|標題)\s*(\d)", re.IGNORECASE)
_LIST_NAME = re.compile(r"List (?:Bullet|Number)(?: (\d))?", re.IGNORECASE)
_MAX_INHERITANCE = 20
"""Styles to follow along an inheritance chain, which is circular in some damaged files."""


class ParagraphRole(StrEnum):
    """The role of a paragraph, as its style says."""

    TEXT = "text"
    TITLE = "title"
    CAPTION = "caption"
    CODE = "code"
    CONTENTS = "contents"
    TERM = "term"
    DEFINITION = "definition"


_ROLES = {
    ParagraphRole.CONTENTS: r"(?:toc|contents|index|toa)(?: heading| \d)|(?:user |table )?index.*"
    r"|table of (?:figures|authorities|contents)|目录.*|目次.*",
    ParagraphRole.CAPTION: r"(?:image |table |figure )?caption|题注|beschriftung|légende",
    ParagraphRole.CODE: r"(?:source|sample|program|block)? ?code(?: block| listing| text)?"
    r"|(?:code )?listing"
    r"|html preformatted|preformatted(?: text)?|macro(?: text)?|console|terminal|verbatim"
    r"|代码.*|源代码.*",
    ParagraphRole.TERM: r"definition (?:list )?term|list heading",
    ParagraphRole.DEFINITION: r"definition(?: list definition)?|list contents",
}
_ROLE_OF = {role: re.compile(form, re.IGNORECASE) for role, form in _ROLES.items()}


class ParagraphStyle(NamedTuple):
    """The properties that a style gives its paragraphs, inherited ones included.

    ``level`` is the level of a heading (0: not a heading), ``list_id`` the number of a list
    definition ("0" or "": no list), ``list_level`` -1 if only the list says it, ``depth`` that of
    the list that the name of the style says, from 1 (0: none), ``size`` the font size in half
    points (0: unknown). ``keys`` are its own and those of the styles that it is based on.
    """

    level: int = 0
    role: ParagraphRole = ParagraphRole.TEXT
    list_id: str = ""
    list_level: int = -1
    depth: int = 0
    bold: bool = False
    monospaced: bool = False
    size: int = 0
    keys: tuple[str, ...] = ()


class StyleSheet:
    """The styles of a document."""

    def __init__(self, document: Any) -> None:  # noqa: ANN401 - a python-docx document
        root = document.styles.element
        self._elements = {style.get(f"{W}styleId") or "": style for style in root.iter(f"{W}style")}
        self._default = next(
            (
                key
                for key, style in self._elements.items()
                if style.get(f"{W}type") == "paragraph"
                and style.get(f"{W}default") in ("1", "true")
            ),
            "",
        )
        defaults = root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
        self._size = size_of(defaults)
        self._found: dict[str, ParagraphStyle] = {}
        self._looks: dict[str, dict[str, str]] = {}

    def of(self, paragraph: Any) -> ParagraphStyle:  # noqa: ANN401
        """Return the style of a paragraph, the default style if it names none."""
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        key = (style.get(f"{W}val") or "") if style is not None else ""
        key = key if key in self._elements else self._default
        if key not in self._found:
            self._found[key] = self._read(key)
        return self._found[key]

    @property
    def lists(self) -> dict[str, str]:
        """The number of the list of each style that has one."""
        found = ((key, value_of(e, "pPr", "numPr", "numId")) for key, e in self._elements.items())
        return {key: list_id for key, list_id in found if list_id}

    def look(self, run: Any, style: ParagraphStyle) -> dict[str, str]:  # noqa: ANN401
        """Return how a run of a paragraph is shown, by its own properties and those of styles.

        The keys are the names of properties: "vanish", "strike", "dstrike" ("": off), "vertAlign"
        and "position".
        """
        properties = run.find(f"{W}rPr")
        named = value_of(properties, "rStyle")
        above = self._style_look(style.keys[0]) if style.keys else {}
        return above | self._style_look(named) | _look(properties)

    def _style_look(self, key: str) -> dict[str, str]:
        if key not in self._looks:
            look: dict[str, str] = {}
            for style in self._inherited(key):
                look = _look(style.find(f"{W}rPr")) | look
            self._looks[key] = look
        return self._looks[key]

    def _read(self, key: str) -> ParagraphStyle:
        """Return a style with inherited properties; the nearest style of the chain wins."""
        chain = list(self._inherited(key))
        if not chain:
            return ParagraphStyle(size=self._size)
        names = [value_of(style, "name") for style in chain]
        outline = next(filter(None, (value_of(s, "pPr", "outlineLvl") for s in chain)), "")
        list_id, list_level = (
            next(filter(None, (value_of(s, "pPr", "numPr", name) for s in chain)), "")
            for name in ("numId", "ilvl")
        )
        role = next(
            (r for n in names for r, form in _ROLE_OF.items() if form.fullmatch(n)),
            ParagraphRole.TEXT,
        )
        # Ignore inherited names here: many styles are based on the style of titles.
        if names[0].lower() == "title":
            role = ParagraphRole.TITLE
        runs = [style.find(f"{W}rPr") for style in chain]
        return ParagraphStyle(
            level=1 if role is ParagraphRole.TITLE else _heading_level(names, outline),
            role=role,
            list_id=list_id,
            list_level=whole_number(list_level, -1),
            depth=int(item[1] or 1) if (item := _LIST_NAME.fullmatch(names[0])) else 0,
            bold=next((b for run in runs if (b := is_on(run, "b")) is not None), False),
            monospaced=any(map(is_monospaced_font, filter(None, map(font_of, runs[:1])))),
            size=next(filter(None, map(size_of, runs)), self._size),
            keys=tuple(style.get(f"{W}styleId") or "" for style in chain),
        )

    def _inherited(self, key: str) -> Iterator[Any]:
        for _ in range(_MAX_INHERITANCE):
            style = self._elements.get(key)
            if style is None:
                return
            yield style
            key = value_of(style, "basedOn")


def is_on(run_properties: Any, name: str) -> bool | None:  # noqa: ANN401
    """Return the value of an on/off property of a run, None if it is not set."""
    switch = run_properties.find(f"{W}{name}") if run_properties is not None else None
    if switch is None:
        return None
    return (switch.get(f"{W}val") or "1") not in ("0", "false", "off", "none")


def _look(run_properties: Any) -> dict[str, str]:  # noqa: ANN401
    look: dict[str, str] = {}
    for name in ("vanish", "strike", "dstrike") if run_properties is not None else ():
        if (switch := is_on(run_properties, name)) is not None:
            look[name] = "on" if switch else ""
    for name in ("vertAlign", "position"):
        if value := value_of(run_properties, name):
            look[name] = value
    return look


def _heading_level(names: Iterable[str], outline: str) -> int:
    """Return the heading level of a style, from its outline level or its names; 0 for others."""
    if outline:
        return int(outline) + 1 if outline in "012345678" else 0
    found = (_HEADING_NAME.fullmatch(name.strip()) for name in names)
    return next((int(match[1]) for match in found if match), 0)


def value_of(element: Any, *path: str) -> str:  # noqa: ANN401
    """Return the ``w:val`` attribute of the element at a path below another, or ""."""
    found = element.find("/".join(f"{W}{name}" for name in path)) if element is not None else None
    return (found.get(f"{W}val") or "") if found is not None else ""


def size_of(run_properties: Any) -> int:  # noqa: ANN401
    """Return the font size of a run in half points, 0 if it has none of its own."""
    return whole_number(value_of(run_properties, "sz"), 0)


def font_of(run_properties: Any) -> str:  # noqa: ANN401
    """Return the font of a run, "" if it has none of its own."""
    fonts = run_properties.find(f"{W}rFonts") if run_properties is not None else None
    return (fonts.get(f"{W}ascii") or "") if fonts is not None else ""


_LEVELS = 9
_PLACE = re.compile("%([1-9])")
_LONGEST = 200


class _Level(NamedTuple):
    """How the items of one level of a list are counted.

    ``restart`` is the deepest level above, from 1, that starts it again (0: none does).
    """

    text: str = ""
    form: str = "none"
    start: int = 1
    restart: int = _LEVELS
    is_legal: bool = False
    gap: str = " "
    style: str = ""


class _List(NamedTuple):
    """A list: those of one ``definition`` count on together, except at levels with a start."""

    definition: str
    levels: Mapping[int, _Level]
    starts: Mapping[int, int]


class Numbering:
    """The lists of a document, and the last number at each of their levels."""

    def __init__(self, root: Any, style_lists: Mapping[str, str]) -> None:  # noqa: ANN401
        """Read ``numbering.xml``, if the file has it, given the lists of styles by their id."""
        self._lists = dict(_lists(root, style_lists)) if root is not None else {}
        self._last: dict[str, dict[int, int]] = {}
        self._started: set[tuple[str, int]] = set()

    def place(self, paragraph: Any, style: ParagraphStyle) -> tuple[str, int]:  # noqa: ANN401
        """Return the list that a paragraph is an item of ("": none), and its level from 0."""
        own = paragraph.find(f"{W}pPr/{W}numPr")
        list_id = value_of(own, "numId") or style.list_id
        levels = self._lists[list_id].levels if list_id in self._lists else {}
        named = (n for key in style.keys for n, found in levels.items() if found.style == key)
        inherited = style.list_level if style.list_level >= 0 else next(named, 0)
        level = value_of(own, "ilvl") or ("0" if value_of(own, "numId") else str(inherited))
        number = max(0, whole_number(level, 0))
        return ("" if list_id == "0" else list_id), number

    def label(self, list_id: str, level: int) -> str:
        """Count the next item of a list, and return its number with the gap behind it, or ""."""
        found = self._lists.get(list_id)
        if found is None or level not in found.levels:
            return ""
        last = self._last.setdefault(found.definition, {})
        here = found.levels[level]
        starts_here = level in found.starts and (list_id, level) not in self._started
        if starts_here:
            self._started.add((list_id, level))
            last[level] = found.starts[level]
        else:
            last[level] = last[level] + 1 if level in last else found.starts.get(level, here.start)
        for deeper in [other for other in last if other > level]:
            if level < found.levels.get(deeper, _Level()).restart:
                del last[deeper]
        if here.form == "bullet":
            return ""

        def counted(match: re.Match[str]) -> str:
            place = int(match[1]) - 1
            above = found.levels.get(place, _Level())
            number = last.get(place, found.starts.get(place, above.start))
            is_plain = here.is_legal and above.form not in ("none", "bullet")
            return written_number(number, "decimal" if is_plain else above.form)

        text = _PLACE.sub(counted, here.text).strip()[:_LONGEST]
        gap = here.gap or ("" if not text.isascii() else " ")
        return text + gap if text else ""


def _lists(root: Any, style_lists: Mapping[str, str]) -> Iterator[tuple[str, _List]]:  # noqa: ANN401
    definitions = {
        d.get(f"{W}abstractNumId") or "": d for d in root.iterchildren(f"{W}abstractNum")
    }
    instances = {n.get(f"{W}numId") or "": n for n in root.iterchildren(f"{W}num")}
    read: dict[str, dict[int, _Level]] = {}
    for list_id, instance in instances.items():
        key = value_of(instance, "abstractNumId")
        linked = style_lists.get(value_of(definitions.get(key), "numStyleLink"), "")
        key = value_of(instances.get(linked), "abstractNumId") or key
        if key not in read:
            read[key] = dict(_levels(definitions.get(key)))
        levels, starts = read[key], {}
        for override in instance.iterchildren(f"{W}lvlOverride"):
            levels = levels | dict(_levels(override))
            place, start = override.get(f"{W}ilvl") or "", value_of(override, "startOverride")
            if place.isdecimal() and start:
                starts[int(place)] = whole_number(start)
        yield list_id, _List(key, levels, starts)


def _levels(parent: Any) -> Iterator[tuple[int, _Level]]:  # noqa: ANN401
    for level in parent.iterchildren(f"{W}lvl") if parent is not None else ():
        place = level.get(f"{W}ilvl") or ""
        if not place.isdecimal() or int(place) >= _LEVELS:
            continue
        number_format = level.find(f"{W}numFmt")
        form = value_of(level, "numFmt") or "decimal"
        if form == "custom":
            first = (number_format.get(f"{W}format") or "").split(",")[0].strip()
            form = "decimalZero" if first.startswith("0") else "decimal"
        yield (
            int(place),
            _Level(
                text=value_of(level, "lvlText"),
                form=form,
                start=whole_number(value_of(level, "start")),
                restart=whole_number(value_of(level, "lvlRestart"), _LEVELS),
                is_legal=bool(is_on(level, "isLgl")),
                gap="" if value_of(level, "suff") == "nothing" else " ",
                style=value_of(level, "pStyle"),
            ),
        )
