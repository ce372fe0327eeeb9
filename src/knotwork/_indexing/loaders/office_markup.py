"""Reduce the XML of a Word or PowerPoint file to what its pages show."""

from __future__ import annotations

from typing import Any

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
EQUATIONS = (f"{M}oMathPara", f"{M}oMath")
_ALTERNATIVES = (f"{MC}AlternateContent", f"{MC}Choice", f"{MC}Fallback")


def choose_alternatives(root: Any) -> None:  # noqa: ANN401
    """Keep the first alternative of what is written for several programs."""
    from lxml import etree

    for several in root.iter(_ALTERNATIVES[0]):
        for other in [child for child in several if child.tag in _ALTERNATIVES][1:]:
            several.remove(other)
    etree.strip_tags(root, *_ALTERNATIVES)


def related(part: Any, kind: str) -> list[Any]:  # noqa: ANN401
    """Return the parts of a file that one refers to by relations of a kind, such as "comments"."""
    found = (r for r in part.rels.values() if r.reltype.endswith(f"/{kind}") and not r.is_external)
    return [relation.target_part for relation in found]


def parsed(part: Any) -> Any:  # noqa: ANN401
    """Return the root element of the XML of a part; None if it is broken."""
    from lxml import etree

    try:
        return etree.fromstring(part.blob, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None
