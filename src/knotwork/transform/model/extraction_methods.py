"""Ask a model about a chunk: requests for its entities and relations, and for checks of them.

`ExtractionMethod` is a plug-in: it builds the request and reads the reply. `LineMethod` uses the
line form, `InstructionMethod` the JSON instructions of models trained for extraction, such as OneKE
(IEPile: Gui et al., 2024). Gleaning asks again for what the first reply left out; reflection has
each relation confirmed, dropped or corrected. Each costs about one more call a chunk.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatReply, ChatRequest, Message
from knotwork.records import content_id
from knotwork.text.token_counts import count_tokens
from knotwork.transform.model.extraction_schema import ExtractionSchema
from knotwork.transform.model.prompts import harmless, mark, prompts_fingerprint, prompts_in
from knotwork.transform.model.reply_formats import JsonReader, LineReader
from knotwork.transform.model.reply_records import (
    Complaint,
    Draft,
    RelationDraft,
    clean_field,
    fold_word,
    name_fault,
    plain_text,
)

EXTRACTION_STAGE = "extract"
_LEAST_OUTPUT_TOKENS = 512


@dataclass(frozen=True, slots=True)
class ChunkTask:
    """What a model is asked to read: a chunk's text, and what may help to read it.

    ``language`` is "en" or "zh". ``source`` is the document's uri, for the ledger. ``memory`` are
    names and facts of similar earlier chunks, one a line, already bounded in tokens.
    """

    text: str
    language: str = "en"
    source: str = ""
    memory: str = ""


class ReplyReader(Protocol):
    """Reads the replies of a model."""

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply and all that cannot be read; never fail.

        ``cut`` says that the reply ended at its limit of tokens.
        """


class ExtractionMethod(ReplyReader, Protocol):
    """Asks a model about a chunk and reads its reply.

    ``name`` changes with anything that changes a request or what is read from a reply.
    """

    @property
    def name(self) -> str: ...

    def request(self, task: ChunkTask, *, fault: str = "") -> ChatRequest:
        """Return the request for a chunk.

        ``fault`` says why the last reply could not be read, in one sentence: the same request
        follows from the same fault, so that a resumed run finds the reply that it paid for.
        """


class LineMethod:
    """Asks in the line form; implements `ExtractionMethod`.

    ``form`` "graph" asks for entities and relations with summaries, "triplets" for facts alone,
    with examples. ``question`` limits both to what bears on it.
    """

    def __init__(
        self,
        form: Literal["graph", "triplets"] = "graph",
        *,
        schema: ExtractionSchema | None = None,
        question: str = "",
    ) -> None:
        self.form = form
        self.schema = schema or ExtractionSchema()
        self.question = question.strip()
        self._lines = LineReader(triplets=form == "triplets", types=self.schema.all_entity_types)

    @property
    def name(self) -> str:
        parts = [self.form, prompts_fingerprint()[:8]]
        if self.schema:
            parts.append(f"schema-{self.schema.fingerprint[:8]}")
        if self.question:
            parts.append(f"question-{content_id(self.question)[:8]}")
        return "-".join(parts)

    def request(self, task: ChunkTask, *, fault: str = "") -> ChatRequest:
        """Return the request for a chunk, fixed words first: servers reuse equal beginnings."""
        prompts = prompts_in(task.language)
        wording = prompts.graph if self.form == "graph" else prompts.triplets
        parts = [
            wording.format(types=self.schema.types_text(prompts))
            if self.form == "graph"
            else wording
        ]
        parts.append(self.schema.rules_text(prompts))
        if self.question:
            parts += [prompts.question, mark("question", self.question)]
        if task.memory:
            parts += [prompts.memory, mark("memory", task.memory)]
        parts.append(mark("text", task.text))
        if fault:
            parts.append(prompts.repair.format(reason=f"{fault} "))
        return chunk_request("\n".join(part for part in parts if part), task)

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply, in JSON too, as some models know no other form."""
        draft = self._lines.read(reply, cut=cut)
        if not draft.records:
            other = JsonReader().read(reply, cut=cut)
            draft = other if other.records else draft
        return self.schema.admit(draft)


def chunk_request(content: str, task: ChunkTask) -> ChatRequest:
    """Return a request that says one thing about a chunk.

    Its limit of output is generous: a reply that runs into it repeats itself.
    """
    limit = max(_LEAST_OUTPUT_TOKENS, 4 * count_tokens(task.text))
    return ChatRequest(
        (Message("user", content),),
        max_output_tokens=limit,
        stage=EXTRACTION_STAGE,
        source=task.source,
    )


INSTRUCTION_VERSION = 1

_TRIPLES = {
    "en": (
        "You are an expert in extracting relation triples. Extract the triples that match the "
        "schema from the input; return an empty list for a relation that does not occur. Answer "
        "in JSON."
    ),
    "zh": (
        "你是抽取关系三元组的专家。请从input中抽取符合schema的关系三元组，不存在的关系返回空列表。"
        "请以JSON回答。"
    ),
}
_ENTITIES = {
    "en": (
        "You are an expert in named entity recognition. Extract the entities that match the "
        "schema from the input; return an empty list for a type that does not occur. Answer in "
        "JSON."
    ),
    "zh": (
        "你是实体识别的专家。请从input中抽取符合schema的实体，不存在的类型返回空列表。请以JSON回答。"
    ),
}
_AGAIN = {"en": " The last answer was no JSON.", "zh": "上次的回答不是JSON。"}


class InstructionMethod:
    """Asks by a JSON instruction for the relations of a schema; implements `ExtractionMethod`.

    Where the schema names no relations, it asks for entities. A model was trained with few names in
    one instruction (OneKE: about four), and one call a chunk is made, so keep the schema small.
    """

    def __init__(self, schema: ExtractionSchema) -> None:
        self.schema = schema

    @property
    def name(self) -> str:
        return f"instruction-{INSTRUCTION_VERSION}-schema-{self.schema.fingerprint[:8]}"

    def request(self, task: ChunkTask, *, fault: str = "") -> ChatRequest:
        """Return the request for a chunk."""
        relations = self.schema.all_relation_types
        wording = (_TRIPLES if relations else _ENTITIES)[task.language]
        instruction = {
            "instruction": wording + (_AGAIN[task.language] if fault else ""),
            "schema": list(relations or self.schema.all_entity_types),
            "input": task.text,
        }
        return chunk_request(json.dumps(instruction, ensure_ascii=False), task)

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply; never fails."""
        return self.schema.admit(JsonReader().read(reply, cut=cut))


def gleaning_request(task: ChunkTask, draft: Draft, *, schema: ExtractionSchema) -> ChatRequest:
    """Return the request for what ``draft`` lacks; its names stand for it, as they are short."""
    prompts = prompts_in(task.language)
    ends = [name for r in draft.relations for name in (r.source, r.target)]
    names = dict.fromkeys([*(entity.name for entity in draft.entities), *ends])
    listed = harmless("; ".join(names)) or "-"
    wording = prompts.glean.format(names=listed, types=schema.types_text(prompts))
    parts = [wording, schema.rules_text(prompts), mark("text", task.text)]
    return chunk_request("\n".join(part for part in parts if part), task)


_VERDICT = re.compile(
    r"[\s\-*•|\[(#]*(\d{1,4})[\s*.)、:：\]]*[|\t:：,， ]\W{0,4}"
    r"(keep|drop|fix|保留|删除|修正)(?=\W|$)(.*)",
    re.IGNORECASE,
)
_VERDICT_WORDS = {"保留": "keep", "删除": "drop", "修正": "fix"}


def check_request(task: ChunkTask, draft: Draft) -> ChatRequest:
    """Return the request that asks whether the text states each relation."""
    prompts = prompts_in(task.language)
    listed = "\n".join(
        f"{number}. {r.source} | {r.relation or '-'} | {r.target}"
        + (f" | {r.summary}" * bool(r.summary))
        for number, r in enumerate(draft.relations, start=1)
    )
    return chunk_request(
        f"{prompts.check.format(relations=harmless(listed))}\n{mark('text', task.text)}", task
    )


def read_check(reply: ChatReply, draft: Draft) -> Draft:
    """Return the draft after the verdicts; a relation without one stays as it is.

    What is dropped or cannot be followed becomes a complaint. Raises Unparsable where a reply holds
    no verdict at all.
    """
    verdicts, complaints = _verdicts(reply.text, len(draft.relations))
    if not verdicts and draft.relations:
        raise Unparsable("The reply holds no verdict on any relation.")
    relations: list[RelationDraft] = []
    for number, relation in enumerate(draft.relations, start=1):
        verdict, rest = verdicts.get(number, ("keep", ""))
        shown = f"{relation.source} | {relation.relation} | {relation.target}"
        if verdict == "drop":
            complaints.append(Complaint(shown, "the check found that the text does not state it"))
            continue
        fixed = _fixed_relation(relation, rest) if verdict == "fix" else relation
        if fixed is None:
            complaints.append(Complaint(rest, "a correction that cannot be read"))
        relations.append(fixed or relation)
    kept = tuple(dict.fromkeys(relations))
    return replace(draft, relations=kept).with_complaints(complaints)


def _verdicts(text: str, count: int) -> tuple[dict[int, tuple[str, str]], list[Complaint]]:
    verdicts: dict[int, tuple[str, str]] = {}
    complaints: list[Complaint] = []
    for line in plain_text(text).split("\n"):
        if not line.strip(" `~\t"):
            continue
        match = _VERDICT.match(line)
        number = int(match[1]) if match else 0
        if match is None or not 1 <= number <= count:
            complaints.append(Complaint(line.strip(), "no verdict on a relation"))
            continue
        word = fold_word(match[2])
        verdicts.setdefault(number, (_VERDICT_WORDS.get(word, word), match[3]))
    return verdicts, complaints


def _fixed_relation(relation: RelationDraft, rest: str) -> RelationDraft | None:
    """Return the relation as a correction has it, with its summary; None where there is none."""
    fields = [clean_field(field) for field in rest.strip().strip("|").split("|")]
    if len(fields) < 3 or name_fault(fields[0]) or name_fault(fields[2]) or not fields[1]:
        return None
    return replace(relation, source=fields[0], relation=fields[1], target=fields[2])
