"""Reduce the XML of a Word document to what its pages show: no deleted or hidden text, no wrappers.

Afterwards a paragraph has runs with one text each, and its number as an attribute.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, ClassVar

from knotwork._indexing.loaders.docx_styles import (
    Numbering,
    StyleSheet,
    W,
    font_of,
    is_on,
    value_of,
)
from knotwork._indexing.loaders.equations import equation_text, field_text
from knotwork._indexing.loaders.list_numbers import written_number
from knotwork._indexing.loaders.office_markup import (
    EQUATIONS,
    RELATIONS,
    choose_alternatives,
    parsed,
    related,
    write_apart,
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
            self._number(paragraph)
            self._write_runs(paragraph)

    def notes(self, part: Any) -> Iterator[tuple[tuple[str, str | None], Any]]:  # noqa: ANN401
        """Yield the notes and comments of a document, by the tag and number of a reference."""
        for tag, kind in self.references.items():
            for root in filter(None.__ne__, map(parsed, related(part, kind))):
                self.reduce(root)
                for note in root:
                    yield (tag, note.get(f"{W}id")), note

    def _number(self, paragraph: Any) -> None:  # noqa: ANN401
        list_id, level = self.numbering.place(paragraph, self._styles.of(paragraph))
        label = self.numbering.label(list_id, level) if list_id else ""
        paragraph.set(LABEL, label)

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
