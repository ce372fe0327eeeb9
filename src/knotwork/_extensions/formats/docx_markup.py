"""Read the styles, numbers and links of a Word document, and reduce its XML to what pages show.

Afterwards nothing is deleted, hidden or wrapped. A paragraph has runs with one text each, and its
number as an attribute ("2.1", "(b)", 第三条), as Word counts it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from knotwork._extensions.formats.equations import equation_text, field_text
from knotwork._extensions.formats.list_numbers import written_number
from knotwork._extensions.formats.office_markup import (
    EQUATIONS,
    RELATIONS,
    choose_alternatives,
    parsed,
    related,
    write_apart,
)
from knotwork._indexing.loaders.loader import whole_number
from knotwork._indexing.loaders.titles_and_captions import is_monospaced_font
from knotwork.records import TextStyle

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


_SYMBOL = dict(
    enumerate(
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
        "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
        0x20,
    )
) | dict(enumerate("€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑", 0xA0))
_WINGDINGS = (
    {0x22: "✂", 0x28: "☎", 0x29: "✆", 0x2A: "✉", 0x34: "✇", 0x3F: "✍", 0x4A: "☺", 0x4C: "☹"}
    | {0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "❑", 0x75: "◆", 0x76: "❖", 0xA7: "▪", 0xA8: "☐"}
    | {0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨"}
    | {0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"}
    | {0x80 + n: sign for n, sign in enumerate("⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿")}
)
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}
_PRIVATE = 0xF000
_CODES = range(0x100)


def symbol(text: str, font: str) -> str:
    """Return a text as a font shows it; a sign that is not known has no text."""
    signs = _FONTS.get(font.strip().lower())
    if signs is None or text.isspace():
        return text
    return "".join(
        signs.get(ord(c) % _PRIVATE, "") if ord(c) % _PRIVATE in _CODES else c for c in text
    )


LABEL = "label"
"""The attribute of a paragraph that has its number with the gap behind it, and of a reference to a
note that has its mark."""
BOX = f"{W}txbxContent"
NOTES = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}
COMMENT = f"{W}commentReference"
_LEAST_POSITION = 4
"""Half points by which a note or power is raised."""
_CONTENTS = frozenset({"Table of Contents", "Index"})
_DELETED = tuple(f"{W}{name}" for name in (f"trPr/{W}del", f"trPr/{W}hidden", f"tcPr/{W}cellDel"))
_NOT_SHOWN = (
    *(f"{W}del", f"{W}moveFrom", f"{W}rubyPr", f"{W}rt", f"{W}sdtPr", f"{W}sdtEndPr"),
    *(f"{W}customXmlPr", f"{W}smartTagPr", f"{W}instrText"),
)
_WRAPPERS = (
    *(f"{W}ins", f"{W}moveTo", f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}smartTag"),
    *(f"{W}hyperlink", f"{W}fldSimple", f"{W}ruby", f"{W}rubyBase", f"{W}bdo", f"{W}dir"),
)
_CONTENT = (f"{W}t", f"{W}drawing", f"{W}pict", f"{W}object", *EQUATIONS)
_BLANKS = {f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}br": "\n", f"{W}cr": "\n"}
_TEXTS = {**_BLANKS, f"{W}noBreakHyphen": "-", f"{W}softHyphen": ""}


class Markup:
    """Reduces the body, notes and headers of a document; numbers count on from one to the next."""

    references: ClassVar = {**NOTES, COMMENT: "comments"}

    def __init__(self, document: Any, styles: StyleSheet) -> None:  # noqa: ANN401
        self._styles = styles
        numbering = next(map(parsed, related(document.part, "numbering")), None)
        self.numbering = Numbering(numbering, styles.lists)
        self._notes: Counter[str] = Counter()
        settings = document.settings.element
        sections = [settings, *document.element.body.iter(f"{W}sectPr")]
        self._note_forms = {
            reference: next(filter(None, (value_of(s, kind, "numFmt") for s in sections)), form)
            for reference, kind, form in (
                (f"{W}footnoteReference", "footnotePr", "decimal"),
                (f"{W}endnoteReference", "endnotePr", "lowerRoman"),
            )
        }

    def reduce(self, root: Any) -> None:  # noqa: ANN401
        """Reduce the XML below an element."""
        from lxml import etree

        choose_alternatives(root)
        for element in [*root.iter(f"{W}sdt", f"{W}tr", f"{W}tc")]:
            if _is_left_out(element):
                _remove(element)
        unmarked = [p for p in root.iter(f"{W}p") if _mark_is_gone(p)]
        etree.strip_elements(root, *_NOT_SHOWN, with_tail=False)
        etree.strip_tags(root, *_WRAPPERS)
        for paragraph in unmarked:
            if next(paragraph.iter(*_CONTENT), None) is None:
                _remove(paragraph)
        for paragraph in [*root.iter(f"{W}p")]:
            list_id, level = self.numbering.place(paragraph, self._styles.of(paragraph))
            paragraph.set(LABEL, self.numbering.label(list_id, level) if list_id else "")
            self._write_runs(paragraph)

    def notes(self, part: Any) -> Iterator[tuple[tuple[str, str | None], Any]]:  # noqa: ANN401
        """Yield the notes and comments of a document, by the tag and number of a reference."""
        for tag, kind in self.references.items():
            for root in filter(None.__ne__, map(parsed, related(part, kind))):
                self.reduce(root)
                for note in root:
                    yield (tag, note.get(f"{W}id")), note

    def _write_runs(self, paragraph: Any) -> None:  # noqa: ANN401
        """Give each run one text, with raised and lowered text written apart."""
        style = self._styles.of(paragraph)
        shown: list[tuple[Any, str, str]] = []
        for number, run in enumerate([*paragraph.iterchildren(f"{W}r", *EQUATIONS)]):
            if run.tag in EQUATIONS:
                shown.append((_in_run(run), equation_text(run), ""))
                continue
            look = self._styles.look(run, style)
            if look.get("vanish") or look.get("strike") or look.get("dstrike"):
                paragraph.remove(run)
                continue
            text, is_note = self._take_text(run)
            raised = f"note {number}" if is_note else _raised(look)
            if text:
                shown.append((run, text, raised))
        texts = write_apart([(text, place) for _, text, place in shown])
        for (run, _, _), text in zip(shown, texts, strict=True):
            inner = run.makeelement(f"{W}t", {})
            inner.text = text
            run.insert(0, inner)

    def _take_text(self, run: Any) -> tuple[str, bool]:  # noqa: ANN401
        """Remove and return the text of a run, with True if it is the mark of a note."""
        texts: list[str] = []
        is_note = False
        font = font_of(run.find(f"{W}rPr"))
        for inner in [*run]:
            if inner.tag == f"{W}t":
                texts.append(symbol(inner.text or "", font))
            elif inner.tag in _TEXTS:
                texts.append(_TEXTS[inner.tag])
            elif inner.tag == f"{W}sym":
                texts.append(_sym(inner))
            elif inner.tag == f"{W}fldChar":
                texts.append(_form_value(inner))
                continue
            elif inner.tag == f"{W}r":  # of a base that had a reading above it
                texts.append(self._take_text(inner)[0])
            elif inner.tag in NOTES:
                if inner.get(f"{W}customMarkFollows") not in ("1", "true", "on"):
                    self._notes[inner.tag] += 1
                    mark = written_number(self._notes[inner.tag], self._note_forms[inner.tag])
                    texts.append(mark)
                    is_note = True
                    inner.set(LABEL, mark)
                continue
            else:
                continue
            run.remove(inner)
        return "".join(texts), is_note


def text_of(element: Any) -> str:  # noqa: ANN401
    """Return the text below an element, one line for each paragraph, without text boxes.

    Paragraphs inside have their numbers.
    """
    return "".join(_pieces(element)).strip("\n")


def _pieces(element: Any) -> Iterator[str]:  # noqa: ANN401
    for inner in element:
        if inner.tag == f"{W}t":
            yield inner.text or ""
        elif inner.tag != BOX:
            if inner.tag == f"{W}p":
                yield "\n"
                yield inner.get(LABEL) or ""
            yield from _pieces(inner)


def page_edges(document: Any, name: str) -> Iterator[Any]:  # noqa: ANN401
    """Yield the roots of the headers or footers of pages: ``name`` is "header" or "footer"."""
    for section in document.element.body.iter(f"{W}sectPr"):
        for reference in section.iterchildren(f"{W}{name}Reference"):
            is_first = reference.get(f"{W}type") == "first"
            part = document.part.related_parts.get(reference.get(f"{RELATIONS}id"))
            if part is not None and not (is_first and not is_on(section, "titlePg")):
                root = parsed(part)
                if root is not None:
                    yield root


def attached(element: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the elements below another in their order, without those in text boxes."""
    waiting = [element]
    while waiting:
        above = waiting.pop()
        if above is not element:
            yield above
        if above is element or above.tag != BOX:
            waiting.extend(reversed(above))


def _is_left_out(element: Any) -> bool:  # noqa: ANN401
    if element.tag == f"{W}sdt":
        properties = element.find(f"{W}sdtPr")
        gallery = value_of(properties, "docPartObj", "docPartGallery")
        return gallery in _CONTENTS or bool(is_on(properties, "showingPlcHdr"))
    return any(element.find(path) is not None for path in _DELETED)


def _mark_is_gone(paragraph: Any) -> bool:  # noqa: ANN401
    """Return True if the mark at the end of a paragraph is deleted, moved away or hidden."""
    mark = paragraph.find(f"{W}pPr/{W}rPr")
    changes = (mark.find(f"{W}{name}") for name in ("del", "moveFrom")) if mark is not None else ()
    return any(change is not None for change in changes) or bool(is_on(mark, "vanish"))


def _remove(element: Any) -> None:  # noqa: ANN401
    if (above := element.getparent()) is not None:
        above.remove(element)


def _raised(look: dict[str, str]) -> str:
    """Return "superscript", "subscript" or "" for a run."""
    if (align := look.get("vertAlign", "")) in ("superscript", "subscript"):
        return align
    position = look.get("position", "")
    if not position.removeprefix("-").isdecimal() or abs(int(position)) < _LEAST_POSITION:
        return ""
    return "subscript" if position.startswith("-") else "superscript"


def _in_run(equation: Any) -> Any:  # noqa: ANN401
    """Put a run in front of an equation, and return it."""
    run = equation.makeelement(f"{W}r", {})
    equation.addprevious(run)
    return run


def _sym(element: Any) -> str:  # noqa: ANN401
    code = element.get(f"{W}char") or ""
    try:
        sign = symbol(chr(int(code, 16)), element.get(f"{W}font") or "")
    except (ValueError, OverflowError):
        return ""
    return "" if "\ue000" <= sign <= "\uf8ff" else sign  # a sign of a font that is not known


def _form_value(field: Any) -> str:  # noqa: ANN401
    """Return what a page shows for a check box or drop-down list of a form, else ""."""
    data = field.find(f"{W}ffData")
    box = data.find(f"{W}checkBox") if data is not None else None
    if box is not None:
        state = is_on(box, "checked")
        return "☒" if (is_on(box, "default") if state is None else state) else "☐"
    entries = data.findall(f"{W}ddList/{W}listEntry") if data is not None else []
    chosen = value_of(data, "ddList", "result") or value_of(data, "ddList", "default") or "0"
    if not chosen.isdecimal() or int(chosen) >= len(entries):
        return ""
    return entries[int(chosen)].get(f"{W}val") or ""


_TARGET = "leads"
"""The attribute of a run that has the target of the link that it is part of."""
_FIELD = re.compile(
    r'\s*(?:HYPERLINK(?:\s+"(?P<url>[^"]*)")?(?:\s+\\l\s+"(?P<part>[^"]*)")?'
    r"|(?:REF|PAGEREF|NOTEREF)\s+(?P<mark>[^\s\\]+))"
)


def mark_links(root: Any, targets: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Give the runs of links below an element their targets; ``targets`` are relationships by id.

    Fields that are equations are written as text.

    Call it before the XML is reduced.
    """
    for link in root.iter(f"{W}hyperlink"):
        found = targets.get(link.get(f"{RELATIONS}id"))
        part = link.get(f"{W}anchor")
        url = str(found.target_ref) if found is not None and found.is_external else ""
        _mark(link.iter(f"{W}r"), f"{url}#{part}" if part else url)
    for simple in root.iter(f"{W}fldSimple"):
        _mark(simple.iter(f"{W}r"), _target(simple.get(f"{W}instr") or ""))
    for paragraph in root.iter(f"{W}p"):
        _mark_fields(paragraph)


def _mark_fields(paragraph: Any) -> None:  # noqa: ANN401
    """Mark the results of the fields of a paragraph that stand between characters of fields."""
    fields: list[list[str]] = []  # the open ones: their instruction, then "" for the result
    for run in paragraph.iter(f"{W}r"):
        for character in run.iterchildren(f"{W}fldChar", f"{W}instrText"):
            kind = character.get(f"{W}fldCharType")
            if kind == "begin":
                fields.append([])
            elif kind in ("separate", "end") and fields:
                instruction = "".join(fields.pop())
                if instruction.upper().split()[:1] == ["EQ"]:
                    character.addnext(text := character.makeelement(f"{W}t", {}))
                    text.text = field_text(instruction)
                if kind == "separate":
                    fields.append(["", _target(instruction)])
            elif kind is None and fields and fields[-1][:1] != [""]:
                fields[-1].append(character.text or "")
        if fields and fields[-1][:1] == [""]:
            _mark([run], fields[-1][1])


def _target(instruction: str) -> str:
    found = _FIELD.match(instruction)
    if found is None:
        return ""
    part = found["mark"] or found["part"]
    return f"{found['url'] or ''}#{part}" if part else found["url"] or ""


def _mark(runs: Any, target: str) -> None:  # noqa: ANN401
    for run in runs if target else ():
        run.set(_TARGET, target)


def links_of(element: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the words and the target of each link below an element that is reduced."""
    runs = element.iter(f"{W}r")
    for target, linked in groupby(runs, key=lambda run: run.get(_TARGET)):
        if target:
            yield "".join(t.text or "" for run in linked for t in run.iter(f"{W}t")), target


_NAMED_STYLES = {"Strong": TextStyle.STRONG, "Emphasis": TextStyle.EMPHASIS}


def styles_of(element: Any) -> Iterator[tuple[str, TextStyle, str]]:  # noqa: ANN401
    """Yield words below an element that their runs set apart, and the text before them in their
    paragraph.
    """
    for paragraph in element.iter(f"{W}p"):
        runs = [
            ("".join(t.text or "" for t in run.iter(f"{W}t")), _run_styles(run.find(f"{W}rPr")))
            for run in paragraph.iter(f"{W}r")
        ]
        for style in TextStyle:
            before = ""
            for has_style, group in groupby(runs, key=lambda run: style in run[1]):
                words = "".join(text for text, _ in group)
                if has_style:
                    yield words, style, before
                before += words


def _run_styles(run_properties: Any) -> set[TextStyle]:  # noqa: ANN401
    if run_properties is None:
        return set()
    named = _NAMED_STYLES.get(value_of(run_properties, "rStyle"))
    styles = {named} if named else set()
    styles |= {TextStyle.STRONG} if is_on(run_properties, "b") else set()
    styles |= {TextStyle.EMPHASIS} if is_on(run_properties, "i") else set()
    return styles | ({TextStyle.CODE} if is_monospaced_font(font_of(run_properties)) else set())
