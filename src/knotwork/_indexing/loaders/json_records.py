"""Load JSON and JSON Lines: write each record as readable lines below a heading with its title.

A file is one document, so it is replaced and removed as a whole. A record with a title becomes a
section and never shares a chunk with another record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from knotwork._indexing.loaders.loader import (
    FORMATS,
    Content,
    Source,
    TextBuilder,
    broken_file_error,
    clean_line,
    flat_metadata,
)
from knotwork._indexing.loaders.plain_text import decode_text
from knotwork._indexing.loaders.titles_and_captions import readable_name

_TITLE_KEYS = ("title", "heading", "headline", "subject", "name", "question", "标题", "名称")
_TEXT_KEYS = (
    *("text", "content", "body", "page_content", "passage", "paragraph", "abstract"),
    *("summary", "description", "answer", "context", "正文", "内容"),
)
_MAX_TITLE_LENGTH = 200
_MAX_ROW_LENGTH = 400


class JsonLoader:
    """Reads .json, .jsonl and .ndjson; a .json file may also hold JSON Lines."""

    name = "json"
    suffixes, signatures = FORMATS["json"]

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        is_lines = source.suffix != ".json"
        value = _parse_lines(source, text) if is_lines else _parse(source, text)
        media_type = "application/jsonl" if is_lines else "application/json"
        builder = TextBuilder(source)
        if isinstance(value, Mapping) and _text_key(value):
            return _single_record(builder, value, media_type)
        for record in _records(value):
            _add_record(builder, record)
        return builder.content(media_type, title=readable_name(source.name))


def _parse(source: Source, text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if len(text.strip().splitlines()) > 1 and text.lstrip().startswith("{"):
            try:
                return [json.loads(line) for line in text.splitlines() if line.strip()]
            except json.JSONDecodeError:
                pass  # not JSON Lines either: report the error of the JSON parser
        raise broken_file_error(source, f"invalid JSON ({error})") from error


def _parse_lines(source: Source, text: str) -> list[Any]:
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise broken_file_error(
                source, f"line {number} is not valid JSON ({error.msg})"
            ) from error
    return values


def _records(value: Any) -> list[Any]:  # noqa: ANN401
    """Return the records of a file: the items of its list, or of its only list of objects.

    Scalar values beside that list become the first record.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
        scalars = {k: v for k, v in value.items() if not isinstance(v, list | dict)}
        if len(lists) == 1 and len(scalars) + 1 == len(value):
            return [*([scalars] if scalars else []), *lists[0]]
    return [value]


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


def _single_record(builder: TextBuilder, record: Mapping[str, Any], media_type: str) -> Content:
    title_key, text_key = _title_key(record), _text_key(record)
    if title_key:
        builder.heading(1, record[title_key])
    builder.add(record[text_key])
    rest = {k: v for k, v in record.items() if k not in (title_key, text_key)}
    _add_fields(builder, rest)
    metadata = {k: v for k, v in rest.items() if isinstance(v, str | int | float)}
    return builder.content(
        media_type,
        title=clean_line(record[title_key]) if title_key else "",
        metadata=flat_metadata(metadata),
    )


def _add_record(builder: TextBuilder, record: Any) -> None:  # noqa: ANN401
    if not isinstance(record, Mapping):
        _add_fields(builder, record)
        return
    title_key, text_key = _title_key(record), _text_key(record)
    if title_key:
        builder.heading(1, record[title_key])
    if text_key:
        builder.add(record[text_key])
    _add_fields(builder, {k: v for k, v in record.items() if k not in (title_key, text_key)})


def _add_fields(builder: TextBuilder, value: Any) -> None:  # noqa: ANN401
    """Append the fields of a record; short fields share a line, so that it can be read alone."""
    row: list[str] = []
    room = _MAX_ROW_LENGTH
    for line in _lines(value):
        is_small = "\n" not in line and len(line) <= _MAX_ROW_LENGTH // 2
        if row and (not is_small or len(line) > room):
            builder.add("; ".join(row))
            row, room = [], _MAX_ROW_LENGTH
        if is_small:
            row.append(line)
            room -= len(line) + 2
        else:
            builder.add(line)
    builder.add("; ".join(row))


def _lines(value: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """Yield ``path: value`` for every value that is not empty."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if all(not isinstance(item, list | dict) for item in value):
            yield from _lines(", ".join(_scalar(item) for item in value if item is not None), path)
        else:
            for item in value:
                yield from _lines(item, path)
    elif value is not None and value != "":
        yield f"{path}: {_scalar(value)}" if path else _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
