"""Load JSON and JSON Lines: a table of short records, or a section for each record.

Lists, tables, definitions and objects with a title are read at any depth.

A table is recorded with its typed values too, as those of spreadsheets are. A file is one document,
so it is replaced and removed as a whole. A record with a title becomes a section and never shares a
chunk with another record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from knotwork._extensions.formats.grids import read_grids
from knotwork._extensions.formats.spreadsheets import add_grids
from knotwork._indexing.loaders.blocks import BULLET, BlockWriter, lead_in_sentence
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    TextMeter,
    broken_file_error,
    clean_line,
    flat_metadata,
    text_leaves,
)
from knotwork._indexing.loaders.text_blocks import add_text
from knotwork._indexing.loaders.titles_and_captions import readable_name
from knotwork.errors import LoadError
from knotwork.records import BlockKind

_TITLE_KEYS = ("title", "heading", "headline", "subject", "name", "question", "标题", "名称")
_TEXT_KEYS = (
    *("text", "content", "body", "page_content", "passage", "paragraph", "abstract"),
    *("summary", "description", "answer", "context", "正文", "内容"),
    *("introduction", "intro", "简介", "引言"),
)
_TERM_KEYS = ("term", "name", "word", "术语", "名词", "词语", "名称")
_MEANING_KEYS = ("definition", "meaning", "description", "定义", "解释", "释义", "含义", "说明")
_PAIR = 2
_STEP_KEYS = ("steps", "instructions", "procedure", "步骤", "流程")
_CODE_KEYS = ("code", "script", "snippet", "program", "代码", "脚本", "程序")
_MAX_TITLE_LENGTH = 200
_MAX_CELL_LENGTH = 120
"""A longer value is no cell of a table."""
_DEEPEST = 20
"""Objects and lists in each other, at most, that are read as blocks; deeper ones are lines."""


class JsonLoader(FormatLoader, name="json"):
    """Reads .json, .jsonl and .ndjson; a .json file may also hold JSON Lines."""

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        is_lines = source.suffix != ".json"
        value = _parse_lines(source, text) if is_lines else _parse(source, text)
        writer = BlockWriter(source)
        title, metadata = readable_name(source.name), {}
        record: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        title_key, text_key = _title_key(record), _key(record, _TEXT_KEYS)
        if title_key or text_key:
            title = record[title_key] if title_key else ""
        if text_key:
            rest = {k: v for k, v in record.items() if k not in (title_key, text_key)}
            metadata = {k: v for k, v in rest.items() if isinstance(v, str | int | float)}
        _Records(writer, TextMeter(source)).add(value)
        media_type = "application/jsonl" if is_lines else "application/json"
        return writer.content(media_type, title=title, metadata=flat_metadata(metadata))


def _parse(source: Source, text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if len(text.strip().splitlines()) > 1 and text.lstrip().startswith("{"):
            with suppress(LoadError):  # if it is not JSON Lines either, the first error is reported
                return _parse_lines(source, text)
        raise broken_file_error(source, f"invalid JSON ({error})") from error


def _parse_lines(source: Source, text: str) -> list[Any]:
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            values += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            reason = f"line {number} is not valid JSON ({error.msg})"
            raise broken_file_error(source, reason) from error
    return values


class _Records:
    """Appends values to a document, each as the block that its form shows."""

    def __init__(self, writer: BlockWriter, meter: TextMeter) -> None:
        self._writer = writer
        self._meter = meter

    def add(self, value: Any, path: str = "", depth: int = 0) -> None:  # noqa: ANN401
        """Append a value; the lines of single ones begin with ``path``, that of their keys."""
        if depth >= _DEEPEST or not isinstance(value, dict | list):
            self._add_leaves(value, path)
        elif isinstance(value, dict):
            self._add_record(value, path, depth, has_text=not path)
        elif not self._add_together(value, path):
            if not any(isinstance(item, dict | list) for item in value):
                self._add_leaves(value, path)
                return
            for item in value:
                if isinstance(item, dict):
                    self._add_record(item, path, depth + 1, has_text=True)
                else:
                    self.add(item, path, depth + 1)

    def _add_record(
        self, record: Mapping[str, Any], path: str, depth: int, *, has_text: bool
    ) -> None:
        """Append a title as a heading, the text, and then the other fields, sections last."""
        title_key = _title_key(record)
        text_key = _key(record, _TEXT_KEYS) if title_key or has_text else ""
        if title_key:
            self._writer.heading(1, record[title_key])
            path = ""
        if text_key:
            with self._writer.subsections():
                add_text(self._writer, record[text_key])
        fields = [(k, v) for k, v in record.items() if k not in (title_key, text_key)]
        fields.sort(key=lambda field: _has_sections(field[1]))
        with self._writer.subsections():
            for (key, value), (_, after) in zip_longest(fields, fields[1:], fillvalue=("", None)):
                text = value.strip() if isinstance(value, str) else ""
                if key.lower() in _CODE_KEYS and "\n" in text:
                    self._writer.code(str(value))
                elif text.endswith((":", "：")) and (
                    isinstance(after, list) or "\n" in _scalar(after)
                ):
                    self._writer.paragraph(text)
                else:
                    self.add(value, f"{path}.{key}" if path else key, depth + 1)

    def _add_together(self, values: Sequence[Any], path: str) -> bool:
        """Append definitions, a list or a table; return False if values are none of these.

        The path stands before a list or table unless a sentence does that ends in a colon.
        """
        name = path.rpartition(".")[2]
        if pairs := _pairs(values):
            for term, meaning in pairs:
                opened = self._writer.begin_definition([term])
                add_text(self._writer, meaning)
                self._writer.end(opened)
            return True
        is_list = len(values) > 1 and all(isinstance(v, str) and v.strip() for v in values)
        if not (is_list or _is_table(values)):
            return False
        if path and not lead_in_sentence(self._writer.last):
            self._writer.paragraph(f"{path}:")
        if not is_list:
            rows = ([_scalar(record[key]) for key in values[0]] for record in values)
            grids = read_grids(enumerate(rows, start=1), self._meter, header=list(values[0]))
            add_grids(self._writer, grids, name=name)
            return True
        with self._writer.block(BlockKind.LIST):
            for place, text in enumerate(values, start=1):
                mark = f"{place}." if name.lower() in _STEP_KEYS else BULLET
                with self._writer.block(BlockKind.ITEM, mark=mark):
                    add_text(self._writer, text)
        return True

    def _add_leaves(self, value: object, path: str) -> None:
        """Append single values, each as the definition of its path."""
        for name, text in text_leaves(value, _scalar, path):
            term = clean_line(name)
            if not term:
                add_text(self._writer, text)
            elif text.strip():
                with self._writer.block(BlockKind.DEFINITION, term), self._writer.subsections():
                    if _is_short(text):
                        self._writer.paragraph(f"{term}: {text}")
                    else:
                        self._writer.term(term)
                        add_text(self._writer, text)


def _pairs(values: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the terms and meanings of records that have nothing else."""
    found = []
    for value in values:
        if not isinstance(value, Mapping) or len(value) != _PAIR:
            return []
        term, meaning = _key(value, _TERM_KEYS), _key(value, _MEANING_KEYS)
        if not (term and meaning) or not _is_short(value[term]):
            return []
        found.append((value[term], value[meaning]))
    return found


def _has_sections(value: object) -> bool:
    """Return True for an object with a title, and a list of such objects that is no table."""
    if isinstance(value, list):
        return not (_is_table(value) or _pairs(value)) and any(map(_has_sections, value))
    return isinstance(value, Mapping) and bool(_title_key(value))


def _is_table(records: Sequence[Any]) -> bool:
    """Return True for several records with the same keys and short values."""
    return len(records) > 1 and all(
        isinstance(record, Mapping)
        and len(record) > 1
        and record.keys() == records[0].keys()
        and not any(isinstance(value, list | dict) for value in record.values())
        and all(_is_short(_scalar(value)) for value in record.values())
        for record in records
    )


def _is_short(text: str) -> bool:
    return len(text) <= _MAX_CELL_LENGTH and "\n" not in text.strip()


def _key(record: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first of ``keys`` that holds text, as the record spells it, or ""."""
    spelled = {str(key).lower(): str(key) for key in record}
    for key in keys:
        value = record[spelled[key]] if key in spelled else None
        if isinstance(value, str) and value.strip():
            return spelled[key]
    return ""


def _title_key(record: Mapping[str, Any]) -> str:
    key = _key(record, _TITLE_KEYS)
    return key if key and len(record[key]) <= _MAX_TITLE_LENGTH else ""


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
