"""Count the numbered paragraphs of a Word document as Word does: "2.1", "(b)", 第三条."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from knotwork._indexing.loaders.docx_styles import ParagraphStyle, W, is_on, value_of
from knotwork._indexing.loaders.list_numbers import written_number
from knotwork._indexing.loaders.loader import whole_number

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
