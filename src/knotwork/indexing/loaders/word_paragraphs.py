"""Paragraphs of Word documents: their text, and what they are by their style or their look."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from knotwork.indexing.loaders.cues import is_monospaced, is_title_like

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BOX = f"{W}txbxContent"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LEFT_OUT = frozenset({FALLBACK, BOX, f"{W}moveFrom"})
"""What is written twice, read apart, or moved away. A text box is written a second time for
programs of before 2010."""
_BLANKS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_MOST_HEADINGS = 1 / 3
"""The share of paragraphs that may look like headings: more of them are bold for another reason."""
_SIZE_STEP = 2
"""Half points by which a heading that is not bold is larger than the text."""
_HEADING_NAME = re.compile(r"(?:heading|überschrift|titre|标题|標題)\s*(\d)", re.IGNORECASE)
_LIST_NAME = re.compile(r"List (?:Bullet|Number)(?: \d)?", re.IGNORECASE)
_DEEPEST = 20
"""Styles inherit from each other; a damaged file may have them do so in a circle."""


class Role(StrEnum):
    """What a paragraph is, if its style says so."""

    TEXT = "text"
    TITLE = "title"
    CAPTION = "caption"
    CODE = "code"
    CONTENTS = "contents"
    TERM = "term"
    DEFINITION = "definition"


_ROLES = {
    Role.CONTENTS: r"(?:toc|contents|index|toa)(?: heading| \d)|(?:user |table )?index.*"
    r"|table of (?:figures|authorities|contents)|目录.*|目次.*",
    Role.CAPTION: r"(?:image |table |figure )?caption|题注|beschriftung|légende",
    Role.CODE: r"(?:source|sample|program|block)? ?code(?: block| listing| text)?|(?:code )?listing"
    r"|html preformatted|preformatted(?: text)?|macro(?: text)?|console|terminal|verbatim"
    r"|代码.*|源代码.*",
    Role.TERM: r"definition (?:list )?term|list heading",
    Role.DEFINITION: r"definition(?: list definition)?|list contents",
}
_ROLE_OF = {role: re.compile(form, re.IGNORECASE) for role, form in _ROLES.items()}


class Style(NamedTuple):
    """What a style says of its paragraphs, with what it inherits.

    ``level`` is that of a heading (0: none), ``list_id`` the number of a list definition ("0" or
    "": none), ``size`` in half points (0: unknown).
    """

    level: int = 0
    role: Role = Role.TEXT
    list_id: str = ""
    list_level: int = 0
    is_item: bool = False
    bold: bool = False
    monospaced: bool = False
    size: int = 0


class Styles:
    """The paragraph styles of a document, and its lists."""

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
        self._size = _size(defaults)
        self._found: dict[str, Style] = {}
        self._ordered = _ordered_lists(document)

    def of(self, paragraph: Any) -> Style:  # noqa: ANN401
        """Return the style of a paragraph."""
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        key = (style.get(f"{W}val") or "") if style is not None else ""
        key = key if key in self._elements else self._default
        if key not in self._found:
            self._found[key] = self._read(key)
        return self._found[key]

    def is_ordered(self, list_id: str, level: int) -> bool:
        """Return whether the items of a list have numbers or letters."""
        return (list_id, level) in self._ordered

    def _read(self, key: str) -> Style:
        """Return a style with what it inherits; what is nearest counts."""
        chain = list(self._inherited(key))
        if not chain:
            return Style(size=self._size)
        names = [_value(style, "name") for style in chain]
        outline = next(filter(None, (_value(s, "pPr", "outlineLvl") for s in chain)), "")
        numbering = next((n for s in chain if (n := s.find(f"{W}pPr/{W}numPr")) is not None), None)
        list_level = _value(numbering, "ilvl")
        role = next(
            (r for n in names for r, form in _ROLE_OF.items() if form.fullmatch(n)), Role.TEXT
        )
        # Only the own name counts for a title: many styles inherit from that of titles.
        if names[0].lower() == "title":
            role = Role.TITLE
        runs = [style.find(f"{W}rPr") for style in chain]
        return Style(
            level=1 if role is Role.TITLE else _heading_level(names, outline),
            role=role,
            list_id=_value(numbering, "numId"),
            list_level=int(list_level) if list_level.isdigit() else 0,
            is_item=_LIST_NAME.fullmatch(names[0]) is not None,
            bold=next((b for run in runs if (b := is_on(run, "b")) is not None), False),
            monospaced=any(map(is_monospaced, filter(None, map(_font, runs[:1])))),
            size=next(filter(None, map(_size, runs)), self._size),
        )

    def _inherited(self, key: str) -> Iterator[Any]:
        for _ in range(_DEEPEST):
            style = self._elements.get(key)
            if style is None:
                return
            yield style
            key = _value(style, "basedOn")


def is_on(run_properties: Any, name: str) -> bool | None:  # noqa: ANN401
    """Return whether a switch of run properties is on, None if they do not say."""
    switch = run_properties.find(f"{W}{name}") if run_properties is not None else None
    if switch is None:
        return None
    return (switch.get(f"{W}val") or "1") not in ("0", "false", "off", "none")


class Look(NamedTuple):
    """How the text of a paragraph looks: all bold, all monospaced, its size in half points."""

    bold: bool = False
    monospaced: bool = False
    size: int = 0


def look_of(paragraph: Any, style: Style) -> Look:  # noqa: ANN401
    """Return how the text of a paragraph looks, its own properties before those of its style."""
    bold = monospaced = True
    sizes: Counter[int] = Counter()
    for run in paragraph.iter(f"{W}r"):
        properties = run.find(f"{W}rPr")
        text = _run_text(run).strip()
        if text:
            bold &= _is_bold(properties, style)
            font = _font(properties)
            monospaced &= is_monospaced(font) if font else style.monospaced
            sizes[_size(properties) or style.size] += len(text)
    return Look(bold, monospaced, sizes.most_common(1)[0][0]) if sizes else Look()


def bold_runs(paragraph: Any, style: Style) -> Iterator[tuple[str, bool]]:  # noqa: ANN401
    """Yield the text of each run of a paragraph, and whether it is bold."""
    for run in paragraph.iter(f"{W}r"):
        yield _run_text(run), _is_bold(run.find(f"{W}rPr"), style)


@dataclass(frozen=True, slots=True)
class Looks:
    """What the look of a paragraph means in a document.

    ``sizes`` are those of headings where no style marks them, the largest first; ``usual`` is the
    size of the text. ``code_is_monospaced`` is False if most text is.
    """

    sizes: tuple[int, ...] = ()
    usual: int = 0
    code_is_monospaced: bool = True

    @classmethod
    def of(cls, body: Any, styles: Styles) -> Looks:  # noqa: ANN401
        """Read the paragraphs of a document that stand in no table."""
        seen: list[tuple[str, Style, Look]] = []
        for paragraph in body.iterchildren(f"{W}p"):
            text = text_of(paragraph).strip()
            if text:
                style = styles.of(paragraph)
                seen.append((text, style, look_of(paragraph, style)))
        lengths: Counter[int] = Counter()
        for text, _, look in seen:
            lengths[look.size] += len(text)
        usual = lengths.most_common(1)[0][0] if lengths else 0
        monospaced = sum(len(text) for text, _, look in seen if look.monospaced)
        code_is_monospaced = 2 * monospaced <= lengths.total()
        if any(style.level and style.role is not Role.TITLE for _, style, _ in seen):
            return cls((), usual, code_is_monospaced)
        marked = [
            look.size
            for text, style, look in seen
            if style.role is Role.TEXT and _is_marked(text, look, usual)
        ]
        few = len(marked) <= _MOST_HEADINGS * len(seen)
        return cls(
            tuple(sorted(set(marked), reverse=True)) if few else (), usual, code_is_monospaced
        )

    def level(self, text: str, look: Look) -> int:
        """Return the level of a heading that no style marks, 0 for other text."""
        is_heading = look.size in self.sizes and _is_marked(text, look, self.usual)
        return self.sizes.index(look.size) + 1 if is_heading else 0


def _is_marked(text: str, look: Look, usual: int) -> bool:
    return (look.bold or look.size >= usual + _SIZE_STEP) and is_title_like(text)


def text_of(element: Any) -> str:  # noqa: ANN401
    """Return the text of all runs below an element, paragraphs parted by line ends.

    Text boxes are left out.
    """
    return "".join(_pieces(element)).strip("\n")


def _pieces(element: Any) -> Iterator[str]:  # noqa: ANN401
    for inner in element:
        if inner.tag == f"{W}t":
            yield inner.text or ""
        elif inner.tag in _BLANKS:
            yield _BLANKS[inner.tag]
        elif inner.tag not in _LEFT_OUT:
            if inner.tag == f"{W}p":
                yield "\n"
            yield from _pieces(inner)


def _run_text(run: Any) -> str:  # noqa: ANN401
    return "".join(piece.text or "" for piece in run.iterchildren(f"{W}t"))


def _is_bold(run_properties: Any, style: Style) -> bool:  # noqa: ANN401
    own = is_on(run_properties, "b")
    if own is None and _value(run_properties, "rStyle") == "Strong":
        return True
    return style.bold if own is None else own


def _heading_level(names: Iterable[str], outline: str) -> int:
    """Return the level of headings in a style, by its outline level or the names it inherits."""
    if outline:
        return int(outline) + 1 if outline in "012345678" else 0
    found = (_HEADING_NAME.fullmatch(name.strip()) for name in names)
    return next((int(match[1]) for match in found if match), 0)


def _ordered_lists(document: Any) -> set[tuple[str, int]]:  # noqa: ANN401
    """Return the (list, level) pairs whose items are numbered."""
    try:
        root = document.part.numbering_part.element
    except (KeyError, NotImplementedError):
        return set()
    formats: dict[tuple[str, int], str] = {}
    for definition in root.iterchildren(f"{W}abstractNum"):
        for level in definition.iterchildren(f"{W}lvl"):
            number = level.get(f"{W}ilvl") or ""
            if number.isdigit():
                key = definition.get(f"{W}abstractNumId") or "", int(number)
                formats[key] = _value(level, "numFmt")
    return {
        (instance.get(f"{W}numId") or "", level)
        for instance in root.iterchildren(f"{W}num")
        for (definition, level), form in formats.items()
        if definition == _value(instance, "abstractNumId") and form not in ("bullet", "none", "")
    }


def _value(element: Any, *path: str) -> str:  # noqa: ANN401
    """Return the value of an element below another, or ""."""
    found = element.find("/".join(f"{W}{name}" for name in path)) if element is not None else None
    return (found.get(f"{W}val") or "") if found is not None else ""


def _size(run_properties: Any) -> int:  # noqa: ANN401
    size = _value(run_properties, "sz")
    return int(size) if size.isdigit() and len(size) <= 4 else 0


def _font(run_properties: Any) -> str:  # noqa: ANN401
    fonts = run_properties.find(f"{W}rFonts") if run_properties is not None else None
    return (fonts.get(f"{W}ascii") or "") if fonts is not None else ""
