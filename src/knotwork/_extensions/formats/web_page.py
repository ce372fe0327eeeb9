"""Prepare the tree of a web page: leave out what is not shown, and write as text what is.

Style sheets say what is hidden, struck, raised or counted. Notes are moved behind the text that
refers to them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, count, islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from knotwork._extensions.formats.equations import equation_text
from knotwork._extensions.formats.raised import write_raised
from knotwork._indexing.loaders.titles_and_captions import is_empty_description


def names(listed: str) -> frozenset[str]:
    """Return the names in a list of them."""
    return frozenset(listed.split())


BLOCKS = names(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure "
    "footer form header hr html legend li main ol p pre section summary table tbody td tfoot "
    "th thead tr ul caption h1 h2 h3 h4 h5 h6"
)
_LEFT_OUT = names(
    "script style noscript template canvas iframe object nav head button audio video "
    "del s strike rt rp rtc datalist"
)
_FURNITURE = names(
    "navheader navfooter docnav toc headerlink sphinxsidebar related breadcrumb breadcrumbs navbar "
    "nav-links edit-this-page edit-link edit-page skip-link footer-nav pagination prev-next-area "
    "mw-editsection mw-cite-backlink footnote-back footnote-backref reversefootnote"
)
"""Classes and ids that documentation generators give to navigation."""
_FURNITURE_IDS = _FURNITURE | names("banner footer navigation table-of-contents")
_HIDDEN_ROLES = names("navigation banner search contentinfo menu complementary")
_HIDDEN_STYLE = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|mso-hide:all"
    r"|text-decoration(?:-line)?:[^;]{0,40}line-through"
)
_MEANINGFUL = names("p h1 h2 h3 h4 h5 h6 table ul ol main article")
_SAYS_SOMETHING = re.compile(r"\d|[.!?。！？]")
_TYPED = names("text email number date tel url time month week datetime-local search range")
"""Kinds of controls that show their value."""
_MARKS = names("math img svg area input select textarea")
_LIFTS = {
    "sup": "sup", "super": "sup", "superscript": "sup",
    "text-top": "sup", "sub": "sub", "subscript": "sub",
}  # fmt: skip
"""Elements, values of `vertical-align` and classes of raised and lowered text."""
_LIFTED = re.compile(r"vertical-align\s*:\s*(super|sub|text-top)\b")
_HEADINGS = names("h1 h2 h3 h4 h5 h6")
_NOTE_TYPES = ("noteref", "doc-noteref")
_MOST_NEAR = 80
_MOST_BEHIND = 12
_MOST_RAISED = 60
_LONGEST_CAPTION = 500
_MOST_ELEMENTS = 60
"""Elements in one that are read to decide on it."""
_ENDS_SENTENCE = tuple(".!?。！？:：")


def name_of(element: Any) -> str:  # noqa: ANN401 - an lxml element, which has no public type
    """Return the name of an element without its namespace, "" for other nodes."""
    tag = element.tag
    return _local_name(tag) if isinstance(tag, str) else ""


@lru_cache(maxsize=1_000)
def _local_name(tag: str) -> str:
    name = tag.rpartition("}")[2].lower()
    return name.rpartition(":")[2] if name.endswith(":math") else name


def classes(element: Any) -> frozenset[str]:  # noqa: ANN401
    """Return the classes of an element."""
    return frozenset((element.get("class") or "").split())


def inner_text(element: Any, most: int) -> str:  # noqa: ANN401
    """Return the text below an element, "" if it is longer or in too many elements."""
    if sum(1 for _ in islice(element.iter(), _MOST_ELEMENTS + 1)) > _MOST_ELEMENTS:
        return ""
    text = _in_order(element)
    return text if len(text) <= most else ""


def _in_order(element: Any) -> str:  # noqa: ANN401
    return " ".join("".join(element.itertext()).split())


def replace(element: Any, text: str, *, tag: str = "span") -> None:  # noqa: ANN401
    """Let an element have a text instead of its content."""
    element.clear(keep_tail=True)
    element.tag = tag
    element.text = text or None


def clean_page(root: Any) -> None:  # noqa: ANN401
    """Leave out what a reader does not see below an element; write marks and controls as text."""
    _leave_out(root)
    _write_marks(root)


def _leave_out(root: Any) -> None:  # noqa: ANN401
    from lxml import etree

    hidden = []
    events = etree.iterwalk(root, events=("start",))
    for _, element in events:
        if element is not root and _is_left_out(element, name_of(element)):
            hidden.append(element)
            events.skip_subtree()
    for element in hidden:
        replace(element, "")


def _is_left_out(element: Any, name: str) -> bool:  # noqa: ANN401
    """Return True for hidden elements, navigation and elements without text of the page."""
    if not name or element.get("hidden", "until-found") != "until-found":
        return True
    if name in _LEFT_OUT or (name == "dialog" and element.get("open") is None):
        return element.get("shadowrootmode") is None
    is_role = element.get("role") in _HIDDEN_ROLES and name != "aside"
    if is_role or classes(element) & _FURNITURE or element.get("id") in _FURNITURE_IDS:
        return True
    if name in ("header", "footer"):
        # Only those of the page: the header and footer of an article hold its title and notes.
        return name_of(element.getparent()) == "body" and not any(True for _ in element.iter("h1"))
    if element.get("aria-hidden") == "true":
        # All that is behind a window of the page has the mark as well.
        inside = islice(element.iter(), _MOST_ELEMENTS)
        return not any(name_of(inner) in _MEANINGFUL for inner in inside)
    style = "".join((element.get("style") or "").split()).lower()
    is_equation = len(element) == 1 and name_of(element[0]) == "math"
    is_hidden = _HIDDEN_STYLE.search(style) is not None and not is_equation
    return is_hidden or (name == "aside" and _is_of_site(element))


def _is_of_site(aside: Any) -> bool:  # noqa: ANN401
    """Return True if an aside only leads to other pages, or is a few words without a sentence."""
    if aside.get("epub:type") or (aside.get("role") or "").startswith(("doc-", "note")):
        return False
    inside = list(islice(aside.iter(), _MOST_ELEMENTS))
    if len(inside) == _MOST_ELEMENTS:
        return False
    text = _in_order(aside)
    links = (inner for inner in inside if name_of(inner) == "a" and inner.get("href"))
    linked = sum(len(_in_order(link)) for link in links)
    return 2 * linked > len(text) or not _SAYS_SOMETHING.search(text)


def _write_marks(root: Any) -> None:  # noqa: ANN401
    from lxml import etree

    near = ""  # the text of the line so far
    written: list[tuple[Any, str, str]] = []
    events = etree.iterwalk(root, events=("start", "end"))
    for event, element in events:
        name = name_of(element)
        if event == "start":
            near = "" if name in BLOCKS or name == "br" else near
            text = _shown(element, name, near) if element is not root else None
            if text is not None:
                is_apart = name in ("img", "svg") and _is_apart(text, near, element)
                written.append((element, text, "div" if is_apart else "span"))
                events.skip_subtree()
            added = element.text if text is None else text
        else:
            near = "" if name in BLOCKS else near
            added = element.tail if element is not root else ""
        near = (near + re.sub(r"\s+", " ", (added or "")[-_MOST_NEAR:]))[-_MOST_NEAR:]
    for element, text, tag in written:
        replace(element, text, tag=tag)


def _shown(element: Any, name: str, near: str) -> str | None:  # noqa: ANN401
    """Return what is written for an element, None if it is its text and elements."""
    is_mark = name == "a" and is_note_reference(element)
    lift = "" if name in BLOCKS else lift_of(element)
    if name not in _MARKS and not is_mark and not lift:
        return None
    gap = " " if near and not near[-1].isspace() else ""
    if name == "math":
        text = equation_text(element)
        return gap * near[-1:].isalnum() + text if text else ""
    if name in ("img", "svg", "area"):
        return _alternative(element, name)
    if name in ("input", "select", "textarea"):
        value = _value(element, name)
        return gap + value if value else ""
    is_note = is_mark or (lift == "sup" and _is_linked(element))
    if is_note and name_of(_line_of(element)) in _HEADINGS:
        return ""  # the note follows
    text = _raised_text(element)
    after = _text_behind(element)
    lowered = lift == "sub"
    return write_raised(near, text, lowered=lowered, is_note=is_note, after=after) if text else None


def _text_behind(element: Any) -> str:  # noqa: ANN401
    """Return the first characters behind an element, or of the element behind it."""
    behind = element.getnext()
    is_element = behind is not None and isinstance(behind.tag, str)
    return (element.tail or (is_element and behind.text) or "")[:_MOST_BEHIND]


def lift_of(element: Any) -> str:  # noqa: ANN401
    """Return "sup" for raised text, "sub" for lowered text, and "" for any other."""
    style = element.get("style")
    styled = _LIFTED.search(style) if style else None
    found = (name_of(element), styled[1] if styled else "", *(element.get("class") or "").split())
    return next((_LIFTS[name] for name in found if name in _LIFTS), "")


def _raised_text(element: Any) -> str:  # noqa: ANN401
    """Return raised text, in which text that is raised further has a caret."""
    for inner in islice(element.iter("{*}sup"), 1, _MOST_ELEMENTS):
        is_first = inner.getprevious() is None and not (inner.getparent().text or "").strip()
        inner.text = inner.text if is_first else f"^{inner.text or ''}"
    return inner_text(element, _MOST_RAISED)


def _line_of(element: Any) -> Any:  # noqa: ANN401
    """Return the block that an element is in, the element itself if it is too deep."""
    around = islice(element.iterancestors(), _MOST_ELEMENTS)
    return next((above for above in around if name_of(above) in BLOCKS), element)


def is_note_reference(link: Any) -> bool:  # noqa: ANN401
    """Return True if a link is declared to be the mark of a note."""
    kinds = f"{link.get('role') or ''} {link.get('epub:type') or ''}".split()
    return any(kind in _NOTE_TYPES for kind in kinds)


def _is_linked(raised: Any) -> bool:  # noqa: ANN401
    """Return True if raised text is a link to a place of a page, or is all that such a link is."""
    parent = raised.getparent()
    is_only = raised.getprevious() is None and raised.getnext() is None
    is_alone = is_only and not f"{parent.text or ''}{raised.tail or ''}".strip()
    links = [raised[0] if len(raised) else None, parent if is_alone else None]
    return any(
        link is not None and name_of(link) == "a" and "#" in (link.get("href") or "")
        for link in links
    )


def _alternative(picture: Any, name: str) -> str:  # noqa: ANN401
    """Return the alternative text of a picture, "" if it is decoration or its caption."""
    text = picture.get("aria-label") or picture.get("alt") or ""
    if name == "svg":
        title = picture.find("{*}title")
        texts = [title, *islice(picture.iter("{*}text"), _MOST_ELEMENTS)]
        shown = (inner_text(e, _LONGEST_CAPTION) for e in texts if e is not None)
        text = text or " ".join(shown)
    text = " ".join(text.split())
    is_decoration = picture.get("role") in ("presentation", "none") or is_empty_description(text)
    figure = next(filter(_is_figure, islice(picture.iterancestors(), 4)), None)
    inside = islice(figure.iter(), _MOST_ELEMENTS) if figure is not None and text else ()
    captions = (inner_text(e, _LONGEST_CAPTION) for e in inside if name_of(e) == "figcaption")
    return "" if is_decoration or text in captions else text


def _is_figure(element: Any) -> bool:  # noqa: ANN401
    return name_of(element) == "figure"


def _is_apart(text: str, near: str, picture: Any) -> bool:  # noqa: ANN401
    """Return True if the text of a picture is a paragraph of its own."""
    is_between = near.strip() and not near.rstrip().endswith(_ENDS_SENTENCE)
    return _is_figure(picture.getparent()) or (" " in text and not is_between)


def _value(control: Any, name: str) -> str:  # noqa: ANN401
    """Return the value that a control of a form shows."""
    if name == "textarea":
        return _in_order(control)
    if name == "select":
        options = (o for o in control.iter("{*}option") if o.get("selected") is not None)
        return ", ".join(map(_in_order, options))
    kind = (control.get("type") or "text").lower()
    if kind in ("checkbox", "radio"):
        is_task = kind == "checkbox" and name_of(control.getparent()) in ("label", "li")
        mark = "[x] " if control.get("checked") is not None else "[ ] " * is_task
        return mark if (control.tail or "").strip() or mark == "[x] " else mark.strip()
    alternative = control.get("alt") if kind == "image" else ""
    return (control.get("value") or "").strip() if kind in _TYPED else alternative or ""


MAX_SHEET = 200_000
"""Characters of the style sheets of a page that are read."""
_MOST_RULES = 2_000
_MOST_ALIKE = 40
"""Rules for one class, id or name that are read."""
_HIDES = ("display", "visibility", "mso-hide")
_PROPERTIES = {
    **{name: name for name in ("vertical-align", "text-decoration", "list-style-type", *_HIDES)},
    "text-decoration-line": "text-decoration",
    "list-style": "list-style-type",
}
_EFFECTS = re.compile(r"(?:none|hidden|collapse|all|super|sub|text-top)\b|.*line-through")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->|<!\[CDATA\[|\]\]>", re.DOTALL)
_STRING = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
_ON_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*(?:,[^()]*)?", re.IGNORECASE)
_SELECTOR = re.compile(r"([a-zA-Z][a-zA-Z0-9]*)?((?:[.#][\w-]+)*)")
_PART = re.compile(r"[.#][\w-]+")
_BEFORE_ITEMS = re.compile(r"\s?>\s?li::?before$")
_COUNTER = re.compile(r"counter\([^(),]*,\s*([a-z-]+)\s*\)")
_KEPT = names("main article h1")
"""A page that shows these only with a script hides them in its style sheet."""


class _Rule(NamedTuple):
    """The value of a property for elements with a name, classes and an id; the last weight wins."""

    weight: tuple[bool, int, float, int]
    tag: str
    parts: frozenset[str]
    name: str
    value: str


def apply_style_sheets(root: Any, linked: str = "") -> None:  # noqa: ANN401
    """Write what style sheets say of the elements of a page into their styles.

    ``linked`` are the sheets that the page refers to. Only rules for a name, classes and ids count.
    """
    own = (
        sheet.text or ""
        for sheet in root.iter("{*}style")
        if (sheet.get("media") or "all").partition(",")[0].strip() in ("all", "screen")
        and name_of(sheet.getparent()) != "noscript"
    )
    rules = _rules_by_key("\n".join([linked, *own])[:MAX_SHEET])
    if not rules:
        return
    known: dict[tuple[str, str, str], dict[str, str]] = {}
    for element in root.iter("*"):
        tag = name_of(element)
        identifier = f"#{element.get('id')}"
        key = (tag, element.get("class") or "", identifier if identifier in rules else "")
        if key not in known:
            parts = {key[2], *(f".{name}" for name in classes(element))}
            held = chain.from_iterable(rules.get(part, ()) for part in (tag, *parts))
            fitting = sorted(r for r in held if r.tag in ("", tag) and r.parts <= parts)
            known[key] = {rule.name: rule.value for rule in fitting}
        if known[key]:
            _add_style(element, known[key])


def _add_style(element: Any, found: dict[str, str]) -> None:  # noqa: ANN401
    style = element.get("style") or ""
    said = {part.partition(":")[0].strip().lower() for part in style.split(";")}
    own = {_PROPERTIES.get(name) for name in said}
    added = {
        name: value
        for name, value in found.items()
        if name not in own and (name == "list-style-type" or _EFFECTS.match(value))
    }
    if any(name in added for name in _HIDES):
        inside = islice(element.iter(), _MOST_ELEMENTS)
        if any(name_of(inner) in _KEPT for inner in inside):
            added = {name: value for name, value in added.items() if name not in _HIDES}
    if added:
        element.set("style", ";".join([*map(":".join, added.items()), style]))


@lru_cache(maxsize=4)
def _rules_by_key(sheet: str) -> dict[str, list[_Rule]]:
    """Return the rules of a sheet by the name, class or id that their selectors end with."""
    rules: dict[str, list[_Rule]] = {}
    for place, (selector, name, value) in enumerate(islice(_declarations(sheet), _MOST_RULES)):
        match = _SELECTOR.fullmatch(selector)
        parts = _PART.findall(match[2]) if match else []
        if match is None or not selector:
            continue
        tag = (match[1] or "").lower()
        shown, _, important = value.partition("!")
        ids = sum(part[0] == "#" for part in parts)
        weight = bool(important), ids, len(parts) - ids + bool(tag) / 2, place
        alike = rules.setdefault(parts[-1] if parts else tag, [])
        if len(alike) < _MOST_ALIKE:
            alike.append(_Rule(weight, tag, frozenset(parts), name, shown.strip()))
    return rules


def _declarations(sheet: str) -> Iterator[tuple[str, str, str]]:
    """Yield selectors with a property that counts and its value."""
    text = _STRING.sub("", _COMMENT.sub(" ", sheet))
    pieces = re.split(r"([{};])", text)
    open_blocks: list[str] = []  # "" for a block whose rules count as those around it
    for piece, mark in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        words = " ".join(piece.split())
        around = open_blocks[-1] if open_blocks else ""
        if mark == "{":
            is_shown = not around and _ON_SCREEN.fullmatch(words)
            open_blocks.append("" if is_shown else "@" if around else words or "@")
            continue
        if around and around[0] != "@":
            yield from _properties(around, words.lower())
        if mark == "}" and open_blocks:
            open_blocks.pop()


def _properties(selectors: str, declaration: str) -> Iterator[tuple[str, str, str]]:
    name, _, value = map(str.strip, declaration.partition(":"))
    counter = _COUNTER.search(value) if name == "content" else None
    known = "list-style-type" if counter else _PROPERTIES.get(name)
    if known == "list-style-type" and not counter:
        value = next((word for word in value.split() if word not in ("inside", "outside")), "none")
        known = "" if value == "none" else known  # its items may count themselves
    for selector in selectors.split(",") if known else ():
        listed = _BEFORE_ITEMS.sub("", selector.strip())
        if bool(counter) == (listed != selector.strip()):
            yield listed, str(known), counter[1] if counter else value


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
_NOT_TEXT = names("h1 h2 h3 h4 h5 h6 hr")
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
        if note is None or note in self._notes or note in islice(mark.iterancestors(), _MOST_ABOVE):
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
    texts = (e.text if name_of(e) not in _NOT_TEXT else "" for e in inside)
    tails = (e.tail for e in inside if e is not element)
    return len(inside) <= _MOST_BESIDE and not any((t or "").strip() for t in (*texts, *tails))
