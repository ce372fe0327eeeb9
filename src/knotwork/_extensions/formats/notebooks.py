"""Load notebooks of Jupyter: their texts, their code, and the text and tables of its output."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from knotwork._extensions.formats.html import add_html
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source, broken_file_error
from knotwork._indexing.loaders.markdown import add_markdown

_TERMINAL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_OLD_KINDS = {"html": "text/html", "text": "text/plain", "png": "image/png", "latex": "text/latex"}
"""The kinds of output before the fourth version of the format."""


class NotebookLoader(FormatLoader, name="notebook"):
    """Reads .ipynb of the versions 3 and 4; pictures are left out."""

    def load(self, source: Source) -> Content:
        held = json.loads(decode_text(source))
        if not isinstance(held, dict):
            raise broken_file_error(source, "it is not a notebook of Jupyter")
        sheets = [sheet for sheet in _list(held, "worksheets") if isinstance(sheet, dict)]
        cells = [cell for sheet in (held, *sheets) for cell in _list(sheet, "cells")]
        language = _language(held)
        source.left_out.clear()  # the pictures, which are counted below
        writer = BlockWriter(source)
        for cell in cells:
            if isinstance(cell, dict):
                _add_cell(writer, source, cell, language)
        return writer.content("application/x-ipynb+json")


def _list(held: Mapping[str, Any], name: str) -> list[Any]:
    found = held.get(name)
    return found if isinstance(found, list) else []


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for name, key in (("language_info", "name"), ("kernelspec", "language")):
        about = metadata.get(name) if isinstance(metadata, dict) else None
        if isinstance(about, dict) and isinstance(about.get(key), str):
            return str(about[key])
    return ""


def _text(value: object) -> str:
    """Return a text of the file, which may be a list of lines."""
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _add_cell(writer: BlockWriter, source: Source, cell: Mapping[str, Any], language: str) -> None:
    kind = cell.get("cell_type")
    text = _text(cell.get("source", cell.get("input", "")))
    if kind == "code":
        writer.code(text, _text(cell.get("language", language)))
        for output in _list(cell, "outputs"):
            if isinstance(output, dict):
                _add_output(writer, source, output)
    elif kind == "heading":
        level = cell.get("level")
        writer.heading(level if isinstance(level, int) else 1, text)
    elif kind == "markdown":
        add_markdown(writer, text)
    else:
        writer.code(text)


def _add_output(writer: BlockWriter, source: Source, output: Mapping[str, Any]) -> None:
    """Append an output: tables as such, other text as it is printed."""
    data = output.get(
        "data", {new: output[old] for old, new in _OLD_KINDS.items() if old in output}
    )
    kinds = {kind: _text(text) for kind, text in data.items()} if isinstance(data, dict) else {}
    is_object = kinds.get("text/plain", "<").startswith("<")  # its address in memory
    if any(kind.startswith("image/") for kind in kinds):
        source.left_out["picture"] += 1
    elif "<table" in kinds.get("text/html", "") or (is_object and "text/html" in kinds):
        add_html(writer, kinds["text/html"])
    elif "text/markdown" in kinds:
        add_markdown(writer, kinds["text/markdown"])
    elif is_object and "text/latex" in kinds:
        writer.paragraph(kinds["text/latex"])
    elif is_object and (held := data.get("application/json")):
        writer.code(json.dumps(held, ensure_ascii=False, indent=1), "json")
    elif "ename" in output:
        writer.code(f"{_text(output['ename'])}: {_text(output.get('evalue'))}")
    else:
        printed = _text(output.get("text")) if "stream" in output.values() else ""
        writer.code(_TERMINAL.sub("", printed or kinds.get("text/plain", "")))
