"""Widths of spaces in PDF fonts, corrected before pypdf reads text with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from knotwork.indexing.loaders.cues import is_monospaced

_MAPS_SPACE = re.compile(rb">\s*<0020>\s*$", re.MULTILINE)
"""An entry of a ToUnicode map that ends with the space; one that begins with it is of glyph 32."""
_SPACE_CODE = 0x20


def correct_space_widths(reader: Any) -> None:  # noqa: ANN401 - a pypdf reader
    """Give fonts without a glyph for the space no width for one.

    pypdf takes two words for apart if the gap between them is as wide as half a space. In fonts
    whose codes are numbers of glyphs, as XeTeX embeds them, it takes glyph 32 for the space, which
    is another character there, often a wider one: words that TeX parts by a gap run together. For
    a font without a width of the space pypdf has a usual one.
    """
    from pypdf.generic import ArrayObject, NumberObject

    seen: set[int] = set()
    for font in _composite_fonts(reader):
        # The letters of code may stand apart: its spaces are as wide as they are.
        if id(font) in seen or is_monospaced(str(font.get("/BaseFont"))) or _has_space(font):
            continue
        seen.add(id(font))
        for descendant in _held(font, "/DescendantFonts", ArrayObject) or ():
            widths = _held(descendant.get_object(), "/W", ArrayObject)
            if widths is not None:
                widths.extend((NumberObject(_SPACE_CODE), ArrayObject([NumberObject(0)])))


def _composite_fonts(reader: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the fonts of the pages whose codes are numbers of glyphs."""
    from pypdf.generic import DictionaryObject

    for page in reader.pages:
        resources = _held(page, "/Resources", DictionaryObject)
        for name in fonts if (fonts := _held(resources, "/Font", DictionaryObject)) else ():
            font = _held(fonts, name, DictionaryObject)
            if font is not None and font.get("/Encoding") in ("/Identity-H", "/Identity-V"):
                yield font


def _has_space(font: Any) -> bool:  # noqa: ANN401
    """Return whether a glyph of a font stands for the space."""
    from pypdf.generic import StreamObject

    mapping = _held(font, "/ToUnicode", StreamObject)
    return mapping is not None and _MAPS_SPACE.search(mapping.get_data()) is not None


def _held(dictionary: Any, key: str, kind: type) -> Any:  # noqa: ANN401
    """Return what a dictionary of a PDF holds, None where it is missing or not of its kind."""
    from pypdf.generic import DictionaryObject

    value = dictionary.get(key) if isinstance(dictionary, DictionaryObject) else None
    value = value.get_object() if value is not None else None
    return value if isinstance(value, kind) else None
