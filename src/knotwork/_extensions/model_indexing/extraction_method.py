"""Build the requests that ask a model about a chunk, and read its replies.

Two optional requests follow the first one: gleaning asks for what the first reply left out, and the
check asks the model to confirm, drop or correct each relation. Each costs about one more call per
chunk.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from knotwork._extensions.model_indexing.extraction_examples import (
    ExtractionExample,
    ExtractionExamples,
)
from knotwork._extensions.model_indexing.extraction_prompts import Prompts, mark, prompts_in
from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema
from knotwork._extensions.model_indexing.reply_formats import (
    Complaint,
    Draft,
    RelationDraft,
    clean_field,
    fold_word,
    name_fault,
    plain_text,
    read_json,
    read_lines,
)
from knotwork._inference.chat import ChatReply, ChatRequest, Message
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork._inference.prompt_files import fill_blanks
from knotwork._inference.prompt_material import escape_tags
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError, Unparsable

EXTRACTION_STAGE = "extract"
SHOWN_REPLY_CHARACTERS = 800
"""Most characters of an unusable reply that its model is shown again."""
_LEAST_OUTPUT_TOKENS = 512


Form = Literal["graph", "triplets", "oneke"]
"""The forms of a request; see `ExtractionMethod`."""


@dataclass(frozen=True, slots=True)
class ChunkTask:
    """A chunk's text for a model to read, with context.

    ``language`` is "en" or "zh". ``source`` is the document's URI, for the cost ledger. ``memory``
    is names and facts of similar earlier chunks, one per line, already limited in tokens.
    """

    text: str
    language: str = "en"
    source: str = ""
    memory: str = ""


@dataclass(frozen=True, slots=True)
class ExtractionMethod:
    """How a model is asked about chunks.

    ``form`` "graph" asks for lines of entities and relations with summaries, "triplets" for lines
    of facts, with examples. "oneke" asks by an instruction, a schema and the input, as one JSON
    object: models that were trained to extract by instructions, as OneKE was (Zhejiang University
    and Ant Group, https://github.com/zjunlp/DeepKE/blob/main/example/llm/OneKE.md), know this form.
    It has no place for the memory of a chunk, and needs a schema: ConfigError is raised without.

    ``question`` limits the records to those that help to answer it. ``examples`` in the language of
    the chunk follow the instructions. ``prompts`` replace built-in ones. ``gleanings`` is the most
    requests for missing records; ``checks_relations`` asks whether the text states each relation.
    """

    form: Form = "graph"
    schema: ExtractionSchema = field(default_factory=ExtractionSchema)
    question: str = ""
    examples: ExtractionExamples = field(default_factory=ExtractionExamples)
    prompts: OwnPrompts = BUILT_IN
    gleanings: int = 0
    checks_relations: bool = False

    def __post_init__(self) -> None:
        if self.form == "oneke" and not self.schema:
            raise ConfigError(
                'extraction.form is "oneke", which needs a schema, and extraction.schema lists '
                "none.",
                fix="Set extraction.schema to a file that lists types or relations (`knotwork "
                'schema propose` makes one), or extraction.form to "graph".',
            )

    def request(self, task: ChunkTask, *, failed: Unparsable | None = None) -> ChatRequest:
        """Return the request for a chunk, or the one that follows a reply that ``failed``.

        Equal failures give equal requests, so that a resumed run finds the reply in the cache. The
        fixed parts come first: servers cache common prefixes.
        """
        prompts = prompts_in(task.language, self.prompts)
        examples = self.examples.in_language(task.language)
        write = self._instruction if self.form == "oneke" else self._form_of_lines
        request = chunk_request(write(task, prompts, examples), task)
        if failed is None:
            return request
        shows_none = self.form == "graph" and not examples
        example = prompts.graph_example if shows_none else ""
        return repair_request(request, failed, wording=prompts.repair, example=example)

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply, whether in lines or in JSON, which some always write.

        ``cut`` is True if the reply was cut off at its token limit. Never fails.
        """
        if self.form == "oneke":
            draft = read_json(reply, cut=cut)
            if not (draft.records or draft.says_nothing):
                lines = self._read_lines(reply, cut=cut)
                draft = lines if lines.records or lines.says_nothing else draft
        else:
            draft = self._read_lines(reply, cut=cut)
            if not draft.records:
                other = read_json(reply, cut=cut)
                draft = other if other.records else draft
        return self.schema.admit(draft)

    def _read_lines(self, reply: str, *, cut: bool) -> Draft:
        types = self.schema.all_entity_types
        return read_lines(reply, triplets=self.form == "triplets", types=types, cut=cut)

    def _form_of_lines(
        self, task: ChunkTask, prompts: Prompts, examples: tuple[ExtractionExample, ...]
    ) -> str:
        triplets = self.form == "triplets"
        types = {"types": self.schema.types_text(prompts)}
        parts = [prompts.triplets if triplets else fill_blanks(prompts.graph, types)]
        parts.append(self.schema.rules_text(prompts))
        if question := self.question.strip():
            parts += [prompts.question, mark("question", question)]
        if examples:
            parts.append(prompts.examples)
        for shown in examples:
            parts.append(f"{mark('example', shown.text)}\n{shown.as_lines(triplets=triplets)}")
        if task.memory:
            parts += [prompts.memory, mark("memory", task.memory)]
        parts.append(mark("text", task.text))
        return "\n".join(part for part in parts if part)

    def _instruction(
        self, task: ChunkTask, prompts: Prompts, examples: tuple[ExtractionExample, ...]
    ) -> str:
        types, relations = self.schema.all_entity_types, self.schema.all_relation_types
        if types and relations:
            instruction = prompts.oneke_graph
        else:
            instruction = prompts.oneke_entities if types else prompts.oneke_relations
        if question := self.question.strip():
            instruction = f"{instruction} {prompts.question} {question}"
        parts: dict[str, Any] = {
            "instruction": " ".join(instruction.split()),
            "schema": _by_kind(types, relations),
        }
        if examples:
            parts["example"] = [
                {"input": shown.text, "output": _by_kind(*shown.under(types, relations))}
                for shown in examples
            ]
        parts["input"] = escape_tags(task.text).strip()
        return json.dumps(parts, ensure_ascii=False)


def _by_kind(types: Any, relations: Any) -> Any:  # noqa: ANN401  any JSON values
    if types and relations:
        return {"entities": types, "relations": relations}
    return types or relations


def chunk_request(content: str, task: ChunkTask) -> ChatRequest:
    """Return a request with one message about a chunk.

    Its output limit is generous: a reply that reaches it is repeating itself.
    """
    limit = max(_LEAST_OUTPUT_TOKENS, 4 * count_tokens(task.text))
    return ChatRequest(
        (Message("user", content),),
        max_output_tokens=limit,
        stage=EXTRACTION_STAGE,
        source=task.source,
    )


def repair_request(
    request: ChatRequest, failed: Unparsable, *, wording: str, example: str = ""
) -> ChatRequest:
    """Return a request that shows the model its own reply, an example of the form, and the reason.

    An empty reply is not shown, since servers refuse empty messages.
    """
    said = " ".join(fill_blanks(wording, {"reason": f"{failed.reason} "}).split())
    asked = Message("user", "\n".join(part for part in (example, escape_tags(said)) if part))
    shown = escape_tags(failed.text.strip())
    if len(shown) > SHOWN_REPLY_CHARACTERS:
        shown = f"{shown[:SHOWN_REPLY_CHARACTERS]}…"
    if shown:
        return replace(request, messages=(*request.messages, Message("assistant", shown), asked))
    *earlier, last = request.messages
    return replace(
        request, messages=(*earlier, replace(last, content=f"{last.content}\n{asked.content}"))
    )


def gleaning_request(method: ExtractionMethod, task: ChunkTask, draft: Draft) -> ChatRequest:
    """Return the request for records that ``draft`` lacks; it lists the names of the draft."""
    prompts = prompts_in(task.language, method.prompts)
    ends = [name for r in draft.relations for name in (r.source, r.target)]
    names = dict.fromkeys([*(entity.name for entity in draft.entities), *ends])
    listed = escape_tags("; ".join(names)) or "-"
    types = method.schema.types_text(prompts)
    wording = fill_blanks(prompts.glean, {"names": listed, "types": types})
    parts = [wording, method.schema.rules_text(prompts), mark("text", task.text)]
    return chunk_request("\n".join(part for part in parts if part), task)


_VERDICT = re.compile(
    r"[\s\-*•|\[(#]*(\d{1,4})[\s*.)、:：\]]*[|\t:：,， ]\W{0,4}"
    r"(keep|drop|fix|保留|删除|修正)(?=\W|$)(.*)",
    re.IGNORECASE,
)
_VERDICT_WORDS = {"保留": "keep", "删除": "drop", "修正": "fix"}


def check_request(task: ChunkTask, draft: Draft, own: OwnPrompts = BUILT_IN) -> ChatRequest:
    """Return the request to confirm, drop or correct each relation of a draft."""
    prompts = prompts_in(task.language, own)
    listed = "\n".join(
        f"{number}. {r.source} | {r.relation or '-'} | {r.target}"
        + (f" | {r.summary}" * bool(r.summary))
        for number, r in enumerate(draft.relations, start=1)
    )
    wording = fill_blanks(prompts.check, {"relations": escape_tags(listed)})
    return chunk_request(f"{wording}\n{mark('text', task.text)}", task)


def read_check(reply: ChatReply, draft: Draft) -> Draft:
    """Apply the verdicts of a reply to the draft; a relation without a verdict stays unchanged.

    Dropped relations and unreadable corrections become complaints. Raises Unparsable if the reply
    has no verdict at all.
    """
    verdicts, complaints = _verdicts(reply.text, len(draft.relations))
    if not verdicts and draft.relations:
        raise Unparsable("The reply has no verdict on any relation.")
    relations: list[RelationDraft] = []
    for number, relation in enumerate(draft.relations, start=1):
        verdict, rest = verdicts.get(number, ("keep", ""))
        shown = f"{relation.source} | {relation.relation} | {relation.target}"
        if verdict == "drop":
            complaints.append(Complaint(shown, "the check found that the text does not state it"))
            continue
        corrected = _corrected(relation, rest) if verdict == "fix" else relation
        if corrected is None:
            complaints.append(Complaint(rest, "the correction is unreadable"))
        relations.append(corrected or relation)
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
            complaints.append(Complaint(line.strip(), "not a verdict on a relation"))
            continue
        word = fold_word(match[2])
        verdicts.setdefault(number, (_VERDICT_WORDS.get(word, word), match[3]))
    return verdicts, complaints


def _corrected(relation: RelationDraft, rest: str) -> RelationDraft | None:
    """Return the relation after a correction, with its summary; None if that is unreadable."""
    fields = [clean_field(field) for field in rest.strip().strip("|").split("|")]
    if len(fields) < 3 or name_fault(fields[0]) or name_fault(fields[2]) or not fields[1]:
        return None
    return replace(relation, source=fields[0], relation=fields[1], target=fields[2])
