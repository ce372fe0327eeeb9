"""Move the notes of web pages behind the text that refers to them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from knotwork._indexing.loaders.web_page import (
    BLOCKS,
    classes,
    inner_text,
    is_note_reference,
    lift_of,
    name_of,
    names,
    replace,
)

_LABEL = re.compile(
    r"[\[(]?\s*((?:note |n\. ?)?(?:\d{1,4}|[a-zA-Z]|[ivxlc]{1,6})|[*†‡§¶]{1,3})\s*[\])]?"
)
_OF_NOTES = re.compile(r"(?:foot|end)-?note|note-?ref|fnref|ftn|^fn", re.IGNORECASE)
_PLACE_OF_NOTE = re.compile(
    r"_?(?:fn|ftn|edn|en\d|n\d|note|(?:sd)?(?:foot|end)-?note)", re.IGNORECASE
)
_CITATIONS = names("reference mw-ref")
"""Classes of marks that refer to a work in a list, which stays whole."""
_SIDE_NOTES = names("sidenote marginnote margin-note footnote-inline")
_NOTES = names("aside li p div dd")
_ENDS_SEARCH = names("body main article section table tr td th dt ul ol dl h1 h2 h3 h4 h5 h6")
_WHOLE = names("p h1 h2 h3 h4 h5 h6 pre figcaption caption legend summary address dt")
_HEADINGS = names("h1 h2 h3 h4 h5 h6 hr")
_LONGEST_LABEL = 12
_MOST_ABOVE = 100
_MOST_INSIDE = 400
_MOST_BESIDE = 50


class _Place(NamedTuple):
    order: int
    element: Any


def attach_notes(roots: Mapping[str, Any]) -> None:
    """Move each note of pages, given by their paths, behind the text with its mark.

    The note begins with the mark. What the mark refers to must be below it, and short. A note on
    the margin is moved behind the text around it.
    """
    places: dict[tuple[str, str], _Place] = {}
    marks: list[tuple[str, str, _Place]] = []
    beside: list[Any] = []
    orders = count()
    for path, root in roots.items():
        for order, element in zip(orders, root.iter("*"), strict=False):
            for name in filter(None, (element.get("id"), element.get("name"))):
                places.setdefault((path, name), _Place(order, element))
            href = element.get("href") or ""
            if name_of(element) == "a" and "#" in href:
                marks.append((path, href, _Place(order, element)))
            elif classes(element) & _SIDE_NOTES and name_of(element) not in BLOCKS:
                beside.append(element)
    moved = _Moved()
    for path, href, mark in marks:
        page, _, name = href.partition("#")
        page = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(page)))
        # Programs that save pages write the address of the page before the name of a place.
        target = places.get((page if page in roots and href[0] != "#" else path, unquote(name)))
        label = _label_of(mark.element, name)
        if target is not None and target.order > mark.order and label:
            mark.element.set("role", "doc-noteref")
            moved.add(mark.element, _note_at(target.element, mark.element), label)
    for note in beside:
        moved.add(note, note, "")
    moved.clear_sections()


def _label_of(link: Any, name: str) -> str:  # noqa: ANN401
    """Return the number or sign of a note if a link is its mark, or ""."""
    raised = link.getparent()
    around = (link, raised, link[0] if len(link) == 1 else link)
    is_raised = any(lift_of(element) == "sup" for element in around)
    is_named = any(_OF_NOTES.search(element.get("class") or "") for element in around)
    is_mark = is_note_reference(link) or is_named or is_raised or _PLACE_OF_NOTE.match(name)
    if not is_mark or any(classes(element) & _CITATIONS for element in around):
        return ""
    found = _LABEL.fullmatch(inner_text(link, _LONGEST_LABEL))
    return found[1] if found else ""


def _note_at(target: Any, mark: Any) -> Any:  # noqa: ANN401
    """Return the note that a place is in, None if it is in no note or in a long one."""
    around = set(islice(mark.iterancestors(), _MOST_ABOVE))
    found = None
    for element in (target, *islice(target.iterancestors(), 5)):
        name = name_of(element)
        if name in _ENDS_SEARCH or element in around:
            break
        is_more = name in ("li", "aside") or _names_one_note(element)
        if name in _NOTES and (found is None or is_more):
            found = element
    if found is None or sum(1 for _ in islice(found.iter(), _MOST_INSIDE + 1)) > _MOST_INSIDE:
        return None
    return found


def _names_one_note(element: Any) -> bool:  # noqa: ANN401
    named = f"{element.get('id') or ''} {element.get('class') or ''}"
    return re.search(r"(?:foot|end)note(?!s)|(?:^|\b)f(?:n|tn)\d", named) is not None


class _Moved:
    """The notes that have another place now."""

    def __init__(self) -> None:
        self._notes: set[Any] = set()
        self._last: dict[Any, Any] = {}  # the last note behind an element
        self._emptied: list[Any] = []

    def add(self, mark: Any, note: Any, label: str) -> None:  # noqa: ANN401
        """Move a note (None: nothing) behind the text around its mark, once."""
        if note is None or note in self._notes or (note is not mark and _is_inside(mark, note)):
            return
        if any(above in self._notes for above in islice(mark.iterancestors(), 8)):
            return  # the mark leads back
        anchor = _end_of_text(mark)
        if anchor is None or anchor is note:
            return
        self._notes.add(note)
        self._emptied.append(note.getparent())
        if label:
            _begin(note, label)
        note.tag = "div"
        for name in ("hidden", "style", "class", "role", "aria-hidden"):
            note.attrib.pop(name, None)
        _take_out(note)
        behind = self._last.get(anchor, anchor)
        tail, behind.tail = behind.tail, None
        behind.addnext(note)
        if behind is anchor and name_of(anchor) not in BLOCKS:
            behind.tail = tail  # the end of its line
        else:
            note.tail = tail
        self._last[anchor] = note

    def clear_sections(self) -> None:
        """Leave out what was around the notes, such as a section with nothing but its heading."""
        for parent in self._emptied:
            for element in (parent, *islice(parent.iterancestors(), 2)):
                if name_of(element) in ("body", "main", "article") or not _is_empty(element):
                    break
                replace(element, "", tag="div")


def _is_inside(element: Any, around: Any) -> bool:  # noqa: ANN401
    return any(above is around for above in islice(element.iterancestors(), _MOST_ABOVE))


def _end_of_text(mark: Any) -> Any:  # noqa: ANN401
    """Return the element behind which a note on a mark is put: the end of its paragraph."""
    child = mark
    for block in islice(mark.iterancestors(), _MOST_ABOVE):
        name = name_of(block)
        if name in ("td", "th", "caption"):
            tables = (e for e in islice(block.iterancestors(), 5) if name_of(e) == "table")
            return next(tables, None)
        if name in _WHOLE:
            return block
        if name in BLOCKS:
            for sibling in islice(child.itersiblings(), _MOST_BESIDE):
                if name_of(sibling) in BLOCKS:
                    break
                child = sibling
            return child
        child = block
    return None


def _take_out(note: Any) -> None:  # noqa: ANN401
    """Take an element out of its place, but for the text behind it."""
    if (note.tail or "").strip():
        rest = note.makeelement("span")
        rest.tail, note.tail = note.tail, None
        note.addprevious(rest)
    note.getparent().remove(note)
    note.tail = None


def _begin(note: Any, label: str) -> None:  # noqa: ANN401
    """Let a note begin with its label, and leave out the links back to its mark."""
    for link in list(note.iter("{*}a")):
        text = inner_text(link, 40).strip("[]() .:^↑↩\ufe0e")
        if "#" in (link.get("href") or "") and (text in ("", label) or text.lower() in _BACK):
            replace(link, "")
    ends = "[\\]).:]+" if label.isalnum() else "[\\]).:]*"
    for holder, slot in list(_slots(note)):
        text = getattr(holder, slot) or ""
        own = re.sub(
            rf"^\s*(?:[\[(]?{re.escape(label)}{ends}(?=\s))?[\]).:]*\s*", "", text, count=1
        )
        if text.strip(f"[]().: \n\t{label}"):
            mark = f"[^{label}]" if label[:1].isalnum() else label
            setattr(holder, slot, f"{mark} {own}")
            return
        setattr(holder, slot, None)


_BACK = ("back", "return", "jump up", "return to text", "back to text", "jump back")


def _slots(note: Any) -> Iterator[tuple[Any, str]]:  # noqa: ANN401
    from lxml import etree

    for event, element in etree.iterwalk(note, events=("start", "end")):
        if event == "start":
            yield element, "text"
        elif element is not note:
            yield element, "tail"


def _is_empty(element: Any) -> bool:  # noqa: ANN401
    inside = list(islice(element.iter(), _MOST_BESIDE + 1))
    texts = (e.text if name_of(e) not in _HEADINGS else "" for e in inside)
    tails = (e.tail for e in inside if e is not element)
    return len(inside) <= _MOST_BESIDE and not any((t or "").strip() for t in (*texts, *tails))
