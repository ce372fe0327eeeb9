"""Load JSON and JSON Lines: a table of short records, or a section for each record.

Lists, tables, definitions and objects with a title are read at any depth.

A table is recorded with its typed values too, as those of spreadsheets are. A file is one document,
so it is replaced and removed as a whole. A record with a title becomes a section and never shares a
chunk with another record.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import zip_longest
from typing import Any

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
from knotwork._indexing.loaders.spreadsheets import add_grid, read_grid
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
        title_key = _title_key(value) if isinstance(value, Mapping) else ""
        if title_key:
            title = value[title_key]
        if isinstance(value, Mapping) and (text_key := _text_key(value)):
            title = title if title_key else ""
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
            _add_record(writer, scalars, meter)
            name = lists[0]
            records = value[name]
    with writer.subsections() if name else nullcontext():
        if not _add_together(writer, records, meter, name):
            for record in records:
                _add_record(writer, record, meter)


def _add_together(
    writer: BlockWriter, values: Sequence[Any], meter: TextMeter, name: str = "", lead: str = ""
) -> bool:
    """Append values as definitions, a table or a list; return False if they are none of these.

    ``lead`` stands before a table or list unless a sentence does that ends in a colon.
    """
    if pairs := _pairs(values):
        for term, meaning in pairs:
            opened = writer.begin_definition([term])
            add_text(writer, meaning)
            writer.end(opened)
        return True
    is_list = len(values) > 1 and all(isinstance(v, str) and v.strip() for v in values)
    if not (is_list or _is_table(values)):
        return False
    if lead and not lead_in_sentence(writer.last):
        writer.paragraph(f"{lead}:")
    if is_list:
        ordered = name.lower() in _STEP_KEYS
        with writer.block(BlockKind.LIST):
            for place, text in enumerate(values, start=1):
                with writer.block(BlockKind.ITEM, mark=f"{place}." if ordered else BULLET):
                    add_text(writer, text)
    else:
        rows = ([_scalar(record[key]) for key in values[0]] for record in values)
        add_grid(writer, read_grid(rows, meter, header=list(values[0])), name=name)
    return True


def _pairs(values: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the terms and meanings of records that have nothing else."""
    found = []
    for value in values:
        is_pair = isinstance(value, Mapping) and len(value) == len(_MEANING)
        term, meaning = (_key(value, keys) if is_pair else "" for keys in _MEANING)
        if not (term and meaning) or not _is_short(value[term]):
            return []
        found.append((value[term], value[meaning]))
    return found


_MEANING = (_TERM_KEYS, _MEANING_KEYS)


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


def _add_record(
    writer: BlockWriter,
    record: Any,  # noqa: ANN401
    meter: TextMeter,
    path: str = "",
    depth: int = 0,
) -> None:
    """Append a record: its title as a heading, its text, and then its other fields."""
    if not isinstance(record, Mapping):
        _add_value(writer, record, meter, path, depth)
        return
    title_key, text_key = _title_key(record), _text_key(record)
    if title_key:
        writer.heading(1, record[title_key])
        path = ""
    if text_key:
        with writer.subsections():
            add_text(writer, record[text_key])
    with writer.subsections():
        _add_fields(writer, record, meter, path, depth, {title_key, text_key})


def _add_fields(
    writer: BlockWriter,
    record: Mapping[str, Any],
    meter: TextMeter,
    path: str,
    depth: int,
    done: Container[str] = (),
) -> None:
    """Append the fields of a record, those with sections last; lines say the path of a field."""
    fields = [(key, value) for key, value in record.items() if key not in done]
    fields.sort(key=lambda field: _has_sections(field[1]))
    values = [value for _, value in fields]
    for (key, value), following in zip_longest(fields, values[1:]):
        is_code = isinstance(value, str) and key.lower() in _CODE_KEYS and "\n" in value.strip()
        is_lead = isinstance(value, str) and value.rstrip().endswith((":", "："))
        if is_code:
            writer.code(value)
        elif is_lead and (isinstance(following, list | dict) or "\n" in _scalar(following)):
            writer.paragraph(value)
        else:
            _add_value(writer, value, meter, f"{path}.{key}" if path else key, depth + 1)


def _has_sections(value: object) -> bool:
    """Return True for an object with a title, and a list of such objects that is no table."""
    if isinstance(value, list):
        return not (_is_table(value) or _pairs(value)) and any(map(_has_sections, value))
    return isinstance(value, Mapping) and bool(_title_key(value))


def _add_value(
    writer: BlockWriter,
    value: Any,  # noqa: ANN401
    meter: TextMeter,
    path: str,
    depth: int,
) -> None:
    """Append what a field holds."""
    is_nested = isinstance(value, Mapping | list) and depth < _DEEPEST
    if is_nested and isinstance(value, Mapping):
        if _title_key(value):
            _add_record(writer, value, meter, path, depth)
        else:
            _add_fields(writer, value, meter, path, depth)
    elif is_nested and _add_together(writer, value, meter, path.rpartition(".")[2], path):
        pass
    elif is_nested and any(isinstance(item, list | dict) for item in value):
        for item in value:
            _add_record(writer, item, meter, path, depth + 1)
    else:
        _add_leaves(writer, value, path)


def _add_leaves(writer: BlockWriter, value: object, path: str) -> None:
    """Append single values, each as the definition of its path."""
    for name, text in text_leaves(value, _scalar, path):
        term = clean_line(name)
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
