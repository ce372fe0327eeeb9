"""Reduce the XML of a Word or PowerPoint file to what its pages show.

Charts and diagrams are written as tables and lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from knotwork._extensions.formats.raised import write_raised
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import parse_xml, whole_number
from knotwork._indexing.loaders.titles_and_captions import item_term
from knotwork._text.languages import detect_language
from knotwork.records import BlockKind

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
EQUATIONS = (f"{M}oMathPara", f"{M}oMath")
_ALTERNATIVES = (f"{MC}AlternateContent", f"{MC}Choice", f"{MC}Fallback")


_OLD_DRAWINGS = "v"
_MARK = re.compile(r"\d{1,9}[.)]")
"""The number of an item as Markdown writes it."""
_MOST_BEFORE = 200


def choose_alternatives(root: Any) -> None:  # noqa: ANN401
    """Keep one alternative of what is written for several programs: the first for new ones."""
    from lxml import etree

    for several in root.iter(_ALTERNATIVES[0]):
        choices = [child for child in several if child.tag in _ALTERNATIVES]
        new = (choice for choice in choices if choice.get("Requires") != _OLD_DRAWINGS)
        kept = next(new, None)
        for other in choices:
            if other is not kept:
                several.remove(other)
    etree.strip_tags(root, *_ALTERNATIVES)


def write_apart(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the texts of the runs of a paragraph, with raised and lowered ones apart.

    A run has a text and its place: "superscript", "subscript", or "note" and its number for the
    mark of a note, "" for others. Runs in one place are written in the first of them.
    """
    groups = [(place, [text for text, _ in held]) for place, held in groupby(runs, itemgetter(1))]
    whole = ["".join(texts) for _, texts in groups]
    written: list[str] = []
    before = ""
    for (place, texts), text, after in zip(groups, whole, [*whole[1:], ""], strict=False):
        if place:
            is_lowered, is_note = place == "subscript", place.startswith("note")
            apart = write_raised(before, text, lowered=is_lowered, is_note=is_note, after=after)
            written += [apart, *[""] * (len(texts) - 1)]
        else:
            apart = text
            written += texts
        before = (before + apart)[-_MOST_BEFORE:]
    return written


def add_item(writer: BlockWriter, text: str, *, label: str, level: int, term: str) -> None:
    """Append an item with the number that a page shows before it, "" for a bullet.

    Markdown has no numbers such as "2.1" or "(b)": they begin the text of an item with a bullet.
    """
    mark = label.strip()
    if _MARK.fullmatch(mark):
        writer.item(text, level=level, mark=mark, term=term)
    else:
        writer.item(label + text, level=level, term=term or item_term(text))


def comment_text(author: str, text: str) -> str:
    """Return a comment as it is written below what it is about."""
    if detect_language(text) == "zh":
        return f"批注（{author}）：{text}" if author else f"批注：{text}"
    return f"Comment by {author}: {text}" if author else f"Comment: {text}"


def related(part: Any, kind: str) -> list[Any]:  # noqa: ANN401
    """Return the parts of a file that one refers to by relations of a kind, such as "comments"."""
    found = (r for r in part.rels.values() if r.reltype.endswith(f"/{kind}") and not r.is_external)
    return [relation.target_part for relation in found]


def parsed(part: Any) -> Any:  # noqa: ANN401
    """Return the root element of the XML of a part; None if it is broken."""
    from lxml import etree

    try:
        return parse_xml(part.blob)
    except etree.XMLSyntaxError:
        return None


C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_NEW_CHART = "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart"
_FILES = ("{urn:schemas-microsoft-com:office:office}OLEObject", "oleObj")
_CATEGORIES, _VALUES = (f"{C}cat", f"{C}xVal"), (f"{C}val", f"{C}yVal")
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|bmp|tiff?|webp|svg|emf|wmf)", re.IGNORECASE)
_MADE_BY_MACHINE = re.compile(
    r"\s*(?:Description automatically generated.*|AI-generated content may be incorrect\.?"
    r"|描述已自动生成.*)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_PICTURE = {"en": "Picture: ", "zh": "图片："}
_MOST_DIGITS = 15


class Graphics:
    """Appends charts and diagrams to a writer, and counts in ``left_out`` those it cannot read."""

    def __init__(self, writer: BlockWriter, left_out: Counter[str]) -> None:
        self._writer = writer
        self._left_out = left_out

    def is_graphic(self, element: Any) -> bool:  # noqa: ANN401
        """Return True for an element that refers to a chart, a diagram or a file."""
        return element.tag in (f"{C}chart", f"{D}relIds", _NEW_CHART) or _is_file(element)

    def add(self, element: Any, parts: Mapping[str, Any]) -> None:  # noqa: ANN401
        """Append the chart or diagram that an element refers to, given the parts by their id."""
        if element.tag == f"{D}relIds":
            kind, key, add = "diagram", element.get(f"{RELATIONS}dm"), self._add_diagram
        elif element.tag == f"{C}chart":
            kind, key, add = "chart", element.get(f"{RELATIONS}id"), self._add_chart
        else:
            self._left_out["embedded file" if _is_file(element) else "chart"] += 1
            return
        root = parsed(parts[key]) if key in parts else None
        if root is None or not add(root):
            self._left_out[kind] += 1

    def _add_chart(self, root: Any) -> bool:  # noqa: ANN401
        """Append the values that the file keeps of a chart; return False without any."""
        series = [_series(element) for element in root.iter(f"{C}ser")]
        filled = [found for found in series if any(values for _, _, values in [found])]
        if not filled:
            return False
        title = _text(root.find(f"{C}chart/{C}title"))
        axes = {axis.tag: _text(axis.find(f"{C}title")) for axis in root.iter(*_AXES)}
        across = axes.get(f"{C}catAx") or axes.get(f"{C}dateAx") or ""
        unit = axes.get(f"{C}valAx") or ""
        if not title and len(filled) == 1:
            title = filled[0][0]
        with self._writer.block(BlockKind.BOX, title):
            self._writer.paragraph(title)
            for categories, alike in groupby(filled, key=lambda found: found[1]):
                columns = [(name or unit or "Value", values) for name, _, values in alike]
                names = [f"{name} ({unit})" if unit not in name else name for name, _ in columns]
                numbers = sorted({n for _, values in columns for n in values})
                rows = [[across, *names]]
                for n in numbers:
                    of_category = [values.get(n, "") for _, values in columns]
                    rows.append([categories.get(n, str(n + 1)), *of_category])
                self._writer.table(rows, header=True)
        return True

    def _add_diagram(self, root: Any) -> bool:  # noqa: ANN401
        """Append the texts of a diagram as a list, by level; return False without any."""
        texts = {p.get("modelId"): _text(p.find(f"{D}t")) for p in root.iter(f"{D}pt")}
        below: dict[str, list[tuple[int, str]]] = {}
        for link in root.iter(f"{D}cxn"):
            if link.get("type", "parOf") == "parOf":
                place = whole_number(link.get("srcOrd"), 0)
                below.setdefault(link.get("srcId"), []).append((place, link.get("destId")))
        tops = [p.get("modelId") for p in root.iter(f"{D}pt") if p.get("type") == "doc"]
        waiting = [(0, key) for key in reversed(tops or list(texts))]
        seen: set[str] = set()
        while waiting:
            level, key = waiting.pop()
            if key in seen:
                continue
            seen.add(key)
            text = texts.get(key, "")
            if text:
                self._writer.item(text, level=level)
            inner = sorted(below.get(key, ()), reverse=True)
            waiting.extend((level + bool(text), child) for _, child in inner)
        self._writer.end_lists()
        return any(texts.values())


_AXES = tuple(f"{C}{name}" for name in ("catAx", "dateAx", "valAx"))


def picture_text(description: str) -> str:
    """Return what is written for the alternative text of a picture, "" for the name of its file."""
    text = _MADE_BY_MACHINE.sub("", " ".join(description.split()))
    if not text or _FILE_NAME.fullmatch(text):
        return ""
    return _PICTURE.get(detect_language(text), _PICTURE["en"]) + text


def _is_file(element: Any) -> bool:  # noqa: ANN401
    return isinstance(element.tag, str) and element.tag.endswith(_FILES)


def _text(element: Any) -> str:  # noqa: ANN401
    """Return the text of a title, typed or kept from a cell, on one line."""
    if element is None:
        return ""
    typed = " ".join(
        "".join(t.text or "" for t in paragraph.iter(f"{A}t"))
        for paragraph in element.iter(f"{A}p")
    )
    kept = (v.text or "" for v in element.iter(f"{C}v"))
    return " ".join((typed or " ".join(kept)).split())


def _series(element: Any) -> tuple[str, dict[int, str], dict[int, str]]:  # noqa: ANN401
    """Return the name of a series, its categories and its values, by their numbers from 0."""
    categories, values = (
        next(({**dict(_points(found))} for found in element.iterchildren(*tags)), {})
        for tags in (_CATEGORIES, _VALUES)
    )
    return _text(element.find(f"{C}tx")), categories, values


def _points(parent: Any) -> Iterator[tuple[int, str]]:  # noqa: ANN401
    """Yield the points of a series; categories of several levels are joined, the widest first."""
    levels = [*parent.iter(f"{C}lvl")]
    if len(levels) < 2:
        yield from _level(parent)
        return
    inner, *outer = (dict(_level(level)) for level in levels)
    around = dict.fromkeys(range(len(outer)), "")
    for number in sorted(inner):
        around |= {n: found[number] for n, found in enumerate(outer) if number in found}
        yield number, " ".join([*(around[n] for n in reversed(range(len(outer)))), inner[number]])


def _level(parent: Any) -> Iterator[tuple[int, str]]:  # noqa: ANN401
    form = next((code.text or "" for code in parent.iter(f"{C}formatCode")), "")
    for point in parent.iter(f"{C}pt"):
        number, value = point.get("idx") or "", point.find(f"{C}v")
        if number.isdecimal() and len(number) < _MOST_DIGITS and value is not None:
            yield int(number), _shown(value.text or "", point.get("formatCode") or form)


def _shown(value: str, form: str) -> str:
    """Return a value as its number format shows it: dates and shares, others as they are."""
    from openpyxl.styles.numbers import is_date_format
    from openpyxl.utils.datetime import from_excel

    try:
        number = float(value)
        if form.endswith("%"):
            return f"{100 * number:.10g}%"
        if form and form != "General" and is_date_format(form):
            return str(from_excel(number)).removesuffix(" 00:00:00")
    except (ValueError, OverflowError, TypeError):
        return " ".join(value.split())
    return f"{number:.{_MOST_DIGITS}g}" if "e" not in value.lower() else value
