"""Find the links of a Word document: hyperlinks, cross-references and bookmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from knotwork._indexing.loaders.docx_styles import W
from knotwork._indexing.loaders.equations import field_text
from knotwork._indexing.loaders.office_markup import RELATIONS

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


def bookmarks_of(element: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the names of the bookmarks that begin in an element."""
    names = (mark.get(f"{W}name") or "" for mark in element.iter(f"{W}bookmarkStart"))
    return (name for name in names if name and name != "_GoBack")
