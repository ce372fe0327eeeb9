"""Load JSON and JSON Lines: a table of short records, or a section for each record.

A table is recorded with its typed values too, as those of spreadsheets are. A file is one document,
so it is replaced and removed as a whole. A record with a title becomes a section and never shares a
chunk with another record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from knotwork._indexing.loaders.blocks import BlockWriter
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
from knotwork._indexing.loaders.spreadsheets import add_grid, read_grid
from knotwork._indexing.loaders.text_blocks import add_text
from knotwork._indexing.loaders.titles_and_captions import readable_name
from knotwork.errors import LoadError
from knotwork.records import BlockKind

_TITLE_KEYS = ("title", "heading", "headline", "subject", "name", "question", "标题", "名称")
_TEXT_KEYS = (
    *("text", "content", "body", "page_content", "passage", "paragraph", "abstract"),
    *("summary", "description", "answer", "context", "正文", "内容"),
)
_MAX_TITLE_LENGTH = 200
_MAX_CELL_LENGTH = 120
"""A longer value is no cell of a table."""


class JsonLoader(FormatLoader, name="json"):
    """Reads .json, .jsonl and .ndjson; a .json file may also hold JSON Lines."""

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        is_lines = source.suffix != ".json"
        value = _parse_lines(source, text) if is_lines else _parse(source, text)
        writer = BlockWriter(source)
        title, metadata = readable_name(source.name), {}
        if isinstance(value, Mapping) and _text_key(value):
            title_key, text_key = _title_key(value), _text_key(value)
            title = value[title_key] if title_key else ""
            rest = {k: v for k, v in value.items() if k not in (title_key, text_key)}
            metadata = {k: v for k, v in rest.items() if isinstance(v, str | int | float)}
        _add_records(writer, value, TextMeter(source))
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


def _add_records(writer: BlockWriter, value: Any, meter: TextMeter) -> None:  # noqa: ANN401
    """Append the records of a file: the items of its list, or of its only list of objects.

    Scalar values beside that list become the first record.
    """
    records = value if isinstance(value, list) else [value]
    name = ""
    if isinstance(value, Mapping):
        filled = {key: v for key, v in value.items() if isinstance(v, list) and v}
        lists = [key for key, v in filled.items() if isinstance(v[0], dict)]
        scalars = {k: v for k, v in value.items() if not isinstance(v, list | dict)}
        if len(lists) == 1 and len(scalars) + 1 == len(value):
            _add_record(writer, scalars)
            name = lists[0]
            records = value[name]
    if _is_table(records):
        rows = ([_scalar(record[key]) for key in records[0]] for record in records)
        add_grid(writer, read_grid(rows, meter, header=list(records[0])), name=name)
    else:
        for record in records:
            _add_record(writer, record)


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


def _text_key(record: Mapping[str, Any]) -> str:
    return _key(record, _TEXT_KEYS)


def _title_key(record: Mapping[str, Any]) -> str:
    key = _key(record, _TITLE_KEYS)
    return key if key and len(record[key]) <= _MAX_TITLE_LENGTH else ""


def _add_record(writer: BlockWriter, record: Any) -> None:  # noqa: ANN401
    if not isinstance(record, Mapping):
        _add_fields(writer, record)
        return
    title_key, text_key = _title_key(record), _text_key(record)
    if title_key:
        writer.heading(1, record[title_key])
    if text_key:
        with writer.subsections():
            add_text(writer, record[text_key])
    _add_fields(writer, {k: v for k, v in record.items() if k not in (title_key, text_key)})


def _add_fields(writer: BlockWriter, value: Any) -> None:  # noqa: ANN401
    """Append the fields of a record, each as the definition of its path."""
    for path, text in text_leaves(value, _scalar):
        term = clean_line(path)
        if not term:
            add_text(writer, text)
        elif text.strip():
            with writer.block(BlockKind.DEFINITION, term), writer.subsections():
                if _is_short(text):
                    writer.paragraph(f"{term}: {text}")
                else:
                    writer.term(term)
                    add_text(writer, text)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
