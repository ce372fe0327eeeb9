"""Derive an extraction schema from example records, or from a model's proposals.

Examples are records in a `.csv`, `.tsv` or `.jsonl` file with the fields of `FIELDS`, of which only
a relation or the type of an entity is required; the first line may name the columns. A model is
asked about a sample of passages, a few per call. The other calls get the names from the first
reply, and the most frequent proposals are kept.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from knotwork._extensions.model_indexing.extraction_prompts import mark, prompts_in
from knotwork._extensions.model_indexing.reply_formats import (
    LONGEST_RELATION,
    NOTHING_WORDS,
    RELATION_WORDS,
    Complaint,
    bare_line,
    clean_field,
    fold_word,
    is_idle,
    name_fault,
    plain_text,
)
from knotwork._extensions.schemas.proposals import SchemaCounts, SchemaProposal, word_key
from knotwork._inference.call_limits import work_ordered
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, Message, complete_checked
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts, prompts_of
from knotwork._inference.prompt_files import fill_blanks
from knotwork._inference.prompt_material import escape_tags
from knotwork._text.languages import prompt_language
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError, Unparsable
from knotwork.records import Chunk

FIELDS = ("source", "source type", "relation", "target", "target type")

LONGEST_TYPE = 40
"""Most characters of the name of a type; a longer one is a description."""

_TYPED = ("source type", "relation", "target type")
_ENDS = {
    "source": "source", "subject": "source", "head": "source", "from": "source",
    "target": "target", "object": "target", "tail": "target", "to": "target",
    "entity": "source", "name": "source", "主体": "source", "客体": "target",
}  # fmt: skip
_FIELD_NAMES = {
    **_ENDS,
    **{f"{end} type": f"{field} type" for end, field in _ENDS.items() if end.isascii()},
    **dict.fromkeys(("relation", "predicate", "relationship", "label", "关系"), "relation"),
    **dict.fromkeys(("type", "主体类型"), "source type"),
    "客体类型": "target type",
}

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_Rows = Iterator[tuple[int, Mapping[str, Any]]]


def schema_of_examples(path: Path) -> SchemaProposal:
    """Return the schema of the records in a file, with the number of examples for each entry.

    Raises ConfigError, with the number of the line, for an invalid record; also for a file that is
    unreadable, has an unsupported format, or has no records.
    """
    counts = SchemaCounts()
    examples = 0
    for number, row in _example_rows(path):
        _count_example(row, counts, f"{path}, line {number}")
        examples += 1
    if not counts:
        raise ConfigError(f"`{path}` has no examples.", fix=_EXAMPLES_FIX)
    noun = "example" if examples == 1 else "examples"
    return counts.exact(counted=f"examples, of {examples:,} {noun} in all")


_EXAMPLES_FIX = (
    "Use a .csv or .tsv file with the columns `source`, `source type`, `relation`, `target`, "
    "`target type`, or a .jsonl file with these keys."
)


def _example_rows(path: Path) -> _Rows:
    """Yield the records of a file by field, each with the number of its line."""
    suffix = path.suffix.lower()
    if suffix not in _DELIMITERS and suffix not in {".jsonl", ".ndjson"}:
        raise ConfigError(
            f"The format of the examples `{path}` is not supported.", fix=_EXAMPLES_FIX
        )
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if suffix in _DELIMITERS:
                yield from _table_rows(file, _DELIMITERS[suffix], path)
                return
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _read_object(line, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The examples `{path}` cannot be read: {error}.", fix=_EXAMPLES_FIX
        ) from error


def _table_rows(lines: Iterable[str], delimiter: str, path: Path) -> _Rows:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    names: Sequence[str] = ()
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{path}, line {reader.line_num}"
            if not names:  # the first line may name the columns
                if names := _read_heading(cells, where):
                    continue
                names = _fields_of(cells, where)
            yield reader.line_num, _named(cells, names, where)
    except csv.Error as error:
        raise ConfigError(f"{path}, line {reader.line_num}: {error}.", fix=_EXAMPLES_FIX) from error


def _read_heading(cells: Sequence[str], where: str) -> Sequence[str]:
    """Return the fields of the columns that a first line names; empty if it is a record."""
    named = [_FIELD_NAMES.get(fold_word(cell), "") for cell in cells]
    known = [name for name in named if name]
    if len(known) <= len(cells) / 2:
        return ()
    if twice := sorted({name for name in known if known.count(name) > 1}):
        raise ConfigError(f"{where} names two columns `{twice[0]}`.", fix=_EXAMPLES_FIX)
    return named


def _read_object(line: str, where: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}.", fix=_EXAMPLES_FIX) from error
    if isinstance(row, list):
        return _named(row, _fields_of(row, where), where)
    if not isinstance(row, dict):
        raise ConfigError(f"{where} is neither an object nor a list.", fix=_EXAMPLES_FIX)
    fields = ((_FIELD_NAMES.get(fold_word(key)), value) for key, value in row.items())
    return {name: value for name, value in fields if name}


def _fields_of(cells: Sequence[object], where: str) -> Sequence[str]:
    for fields in (FIELDS, _TYPED):
        if len(cells) == len(fields):
            return fields
    raise ConfigError(
        f"{where} has {len(cells)} fields, where 5 or 3 are needed.", fix=_EXAMPLES_FIX
    )


def _named(cells: Sequence[Any], names: Sequence[str], where: str) -> Mapping[str, Any]:
    if len(cells) > len(names):
        raise ConfigError(
            f"{where} has {len(cells)} fields, where there are {len(names)} columns.",
            fix=_EXAMPLES_FIX,
        )
    return {name: cell for name, cell in zip(names, cells, strict=False) if name}


def _count_example(row: Mapping[str, Any], counts: SchemaCounts, where: str) -> None:
    fields: dict[str, str] = {}
    for name in FIELDS:
        value = row.get(name)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{where}: `{name}` is `{value}`, not a text.", fix=_EXAMPLES_FIX)
        text = clean_field(value or "")
        fields[name] = text if any(character.isalnum() for character in text) else ""  # "-" is none
        longest = LONGEST_TYPE if name.endswith("type") else LONGEST_RELATION
        if name in _TYPED and len(text) > longest:
            raise ConfigError(
                f"{where}: `{name}` is longer than {longest} characters.", fix=_EXAMPLES_FIX
            )
    source, relation, target = (fields[name] for name in _TYPED)
    if not relation and (fields["target"] or target):
        raise ConfigError(f"{where} has a target, but no relation.", fix=_EXAMPLES_FIX)
    if not relation and not source:
        raise ConfigError(f"{where} has neither a relation nor a type.", fix=_EXAMPLES_FIX)
    for kind in filter(None, (source, target)):
        counts.add_type(kind)
    if relation:
        counts.add_relation(source, relation, target)


SCHEMA_STAGE = "schema"

CHUNKS_PER_CALL = 4
"""Most passages per call; with more, the model omits the types of the rarer ones."""

TOKENS_PER_CALL = 1_600
"""Most tokens of passages per call, except for a single longer passage."""

ENOUGH_REPLIES = 4
"""Replies from which on two must agree on an entry."""

_OUTPUT_TOKENS = 1_024


def propose_schema(
    model: ChatModel,
    chunks: Sequence[Chunk],
    *,
    most_types: int = 12,
    most_relations: int = 20,
    concurrency: int = 8,
) -> SchemaProposal:
    """Return the schema that a model proposes from a sample of chunks; its counts are of replies.

    ``chunks`` should be spread over the documents, with neighbours from different ones. With four
    or more replies, two have to agree on an entry. Unreadable replies are ignored; Unparsable is
    raised if there are no others. Raises what `ChatModel.complete` raises, and ValueError without
    chunks.
    """
    if not chunks:
        raise ValueError("at least one chunk is needed to propose a schema")
    prompts = partial(
        proposal_request,
        language=prompt_language("\n".join(chunk.text for chunk in chunks)),
        most_types=most_types,
        most_relations=most_relations,
        own=prompts_of(model),
    )

    def ask(group: Sequence[Chunk], names: str = "") -> ProposedLines | Unparsable:
        request = prompts([chunk.text for chunk in group], names=names)
        try:
            return complete_checked(model, request, _read_reply)
        except Unparsable as error:
            return error

    groups = list(_chunk_groups(chunks))
    first = ask(groups[0])
    names = "" if isinstance(first, Unparsable) else _names_in(first)
    rest = work_ordered(partial(ask, names=names), groups[1:], concurrency=concurrency)
    read = [reply for reply in (first, *rest) if not isinstance(reply, Unparsable)]
    if isinstance(first, Unparsable) and not read:
        raise first
    counts = SchemaCounts(word_key)
    for reply in read:
        counts.add_vote(reply.types, reply.relations)
    return counts.proposal(
        most_types=most_types,
        most_relations=most_relations,
        least=2 if len(read) >= ENOUGH_REPLIES else 1,
        counted=f"replies of a model, of {len(read)} in all"
        if len(read) != 1
        else "those of one reply",
    )


def proposal_request(
    texts: Sequence[str],
    *,
    language: str,
    most_types: int,
    most_relations: int,
    names: str = "",
    own: OwnPrompts = BUILT_IN,
) -> ChatRequest:
    """Return the request for a schema of some passages.

    ``names`` is a line with the names that another reply proposed.
    """
    prompts = prompts_in(language, own)
    most = {"types": str(most_types), "relations": str(most_relations)}
    parts = [fill_blanks(prompts.propose, most)]
    if names:
        parts.append(fill_blanks(prompts.proposed, {"names": escape_tags(names)}))
    parts.append(mark("text", "\n\n".join(texts)))
    return ChatRequest(
        (Message("user", "\n".join(parts)),), max_output_tokens=_OUTPUT_TOKENS, stage=SCHEMA_STAGE
    )


def _read_reply(reply: ChatReply) -> ProposedLines:
    lines = read_proposal(reply.text, cut=reply.finish_reason == "length")
    if lines.records or (lines.says_nothing and reply.finish_reason == "stop"):
        return lines
    raise Unparsable(reply.why_empty or "No line of the reply is a type or a relation.")


def _chunk_groups(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    group: list[Chunk] = []
    tokens = 0
    for chunk in chunks:
        size = count_tokens(chunk.text)
        if group and (len(group) == CHUNKS_PER_CALL or tokens + size > TOKENS_PER_CALL):
            yield group
            group, tokens = [], 0
        group.append(chunk)
        tokens += size
    yield group


def _names_in(lines: ProposedLines) -> str:
    types = dict.fromkeys(name for name, _ in lines.types)
    relations = dict.fromkeys(relation for _, relation, _ in lines.relations)
    return "; ".join(", ".join(names) for names in (types, relations) if names)


SAYS_NOTHING = frozenset(
    "other others misc miscellaneous unknown thing things entity entities object item "  # noqa: SIM905
    "其他 其它 其余 未知 事物 实体 对象".split()
)
"""Types that mean any entity; a relation with such an end may connect any types."""

_ANYTHING = "a type that means any entity"

_TYPE_WORDS = frozenset({"type", "entity type", "entity", "类型", "实体类型", "实体"})
_PROPOSAL_HEADS = frozenset(
    {"name", "type name", "类型名称", "名称", "source type", "主体类型", "source", "主体"}
)


@dataclass(frozen=True, slots=True)
class ProposedLines:
    """The proposal of a reply: types with their meanings, and relations between types.

    An end that is "" may be of any type. ``says_nothing`` is True if the reply says so explicitly
    or names a type that means any entity.
    """

    types: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    complaints: tuple[Complaint, ...] = ()
    idle: int = 0
    says_nothing: bool = False

    @property
    def records(self) -> int:
        """The number of types and relations."""
        return len(self.types) + len(self.relations)


def read_proposal(reply: str, *, cut: bool = False) -> ProposedLines:
    """Return the proposal of a reply; never fails. ``cut`` is True if the reply was cut off."""
    types: list[tuple[str, str]] = []
    relations: list[tuple[str, str, str]] = []
    complaints: list[Complaint] = []
    idle, nothing = 0, False
    lines = [line.strip() for line in plain_text(reply).split("\n") if line.strip()]
    for place, line in enumerate(lines):
        bare = bare_line(line)
        fields = [clean_field(f) for f in re.split(r"[|\t]", bare.strip().strip("|"))]
        kind, rest = fold_word(fields[0]), fields[1:]
        says_nothing = fold_word(bare) in NOTHING_WORDS
        repeats_form = bool(rest) and fold_word(rest[0]) in _PROPOSAL_HEADS
        if says_nothing or is_idle(bare) or repeats_form:
            idle += 1
            nothing |= says_nothing
            continue
        last = cut and place == len(lines) - 1
        if kind in _TYPE_WORDS:
            fault = _fault_of_type(rest, last=last)
            nothing |= fault == _ANYTHING
            if not fault:
                types.append((rest[0], " ".join(filter(None, rest[1:]))))
        elif kind in RELATION_WORDS:
            fault = _fault_of_relation(rest, last=last)
            if not fault:
                ends = ["" if fold_word(end) in SAYS_NOTHING else end for end in (rest[0], rest[2])]
                relations.append((ends[0], rest[1], ends[1]))
        else:
            fault = "neither a type nor a relation"
        if fault:
            complaints.append(Complaint(line, fault))
    return ProposedLines(tuple(types), tuple(relations), tuple(complaints), idle, nothing)


def _fault_of_type(fields: list[str], *, last: bool) -> str:
    if not fields or (last and len(fields) < 2):
        return "a type without a name"
    is_any = fold_word(fields[0]) in SAYS_NOTHING
    return _type_fault(fields[0]) or (_ANYTHING if is_any else "")


def _fault_of_relation(fields: list[str], *, last: bool) -> str:
    if len(fields) < 3 or (last and len(fields) == 3):
        return f"a relation with {len(fields)} fields, where 3 are needed"
    source, relation, target = fields[:3]
    if fault := _type_fault(source) or _type_fault(target):
        return fault
    if not any(character.isalnum() for character in relation):
        return "a relation without a name"
    return "a relation is a whole sentence" if len(relation) > LONGEST_RELATION else ""


def _type_fault(name: str) -> str:
    return name_fault(name) or ("a type is a whole sentence" if len(name) > LONGEST_TYPE else "")
