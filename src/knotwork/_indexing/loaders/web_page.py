"""Prepare the tree of a web page: leave out what is not shown, and write as text what is."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Any

from knotwork._indexing.loaders.equations import equation_text
from knotwork._indexing.loaders.raised import write_raised
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
