"""Reduce the XML of a Word or PowerPoint file to what its pages show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import parse_xml
from knotwork._indexing.loaders.raised import write_raised
from knotwork._indexing.loaders.titles_and_captions import item_term
from knotwork._text.languages import detect_language

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
