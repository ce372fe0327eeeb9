"""Build the requests that ask a model about a chunk, and read its replies.

`ExtractionMethod` is a plug-in that does both; `LineMethod` is the built-in one. Two optional
requests follow: gleaning asks for what the first reply left out, and the check asks the model to
confirm, drop or correct each relation. Each costs about one more call per chunk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from knotwork._inference.chat import ChatReply, ChatRequest, Message
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork._inference.prompt_files import fill_blanks
from knotwork._inference.prompt_material import escape_tags
from knotwork._text.token_counts import count_tokens
from knotwork._transform.model.extraction_examples import ExtractionExamples
from knotwork._transform.model.extraction_schema import ExtractionSchema
from knotwork._transform.model.prompts import mark, prompts_fingerprint, prompts_in
from knotwork._transform.model.reply_formats import JsonReader, LineReader
from knotwork._transform.model.reply_records import (
    Complaint,
    Draft,
    RelationDraft,
    clean_field,
    fold_word,
    name_fault,
    plain_text,
)
from knotwork.errors import Unparsable
from knotwork.records import content_id

EXTRACTION_STAGE = "extract"
SHOWN_REPLY_CHARACTERS = 800
"""Most characters of an unusable reply that its model is shown again."""
_LEAST_OUTPUT_TOKENS = 512


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
class FailedReply:
    """A reply that could not be read: a sentence that explains why, and its text."""

    reason: str
    text: str = ""


class ReplyReader(Protocol):
    """Reads the replies of a model."""

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply and complaints about the rest; never fail.

        ``cut`` is True if the reply was cut off at its token limit.
        """


class ExtractionMethod(ReplyReader, Protocol):
    """Asks a model about a chunk and reads its reply.

    ``name`` changes with anything that changes a request or what is read from a reply.
    """

    @property
    def name(self) -> str: ...

    def request(self, task: ChunkTask, *, failed: FailedReply | None = None) -> ChatRequest:
        """Return the request for a chunk, or the one that follows a reply that ``failed``.

        Equal failures give equal requests, so that a resumed run finds the reply in the cache.
        """


class LineMethod:
    """Asks for one record per line; implements `ExtractionMethod`.

    ``form`` "graph" asks for entities and relations with summaries; "triplets" asks for facts only
    and gives examples. ``question`` limits both to records that help to answer it. ``examples`` in
    the language of the chunk follow the instructions. ``prompts`` replace built-in ones.
    """

    def __init__(
        self,
        form: Literal["graph", "triplets"] = "graph",
        *,
        schema: ExtractionSchema | None = None,
        question: str = "",
        examples: ExtractionExamples | None = None,
        prompts: OwnPrompts = BUILT_IN,
    ) -> None:
        self.form = form
        self.prompts = prompts
        self.examples = examples or ExtractionExamples()
        self.schema = schema or ExtractionSchema()
        self.question = question.strip()
        self._lines = LineReader(triplets=form == "triplets", types=self.schema.all_entity_types)

    @property
    def name(self) -> str:
        return method_name(self.form, self.schema, self.question, self.examples, self.prompts)

    def request(self, task: ChunkTask, *, failed: FailedReply | None = None) -> ChatRequest:
        """Return the request for a chunk, fixed parts first: servers cache common prefixes."""
        prompts = prompts_in(task.language, self.prompts)
        parts = [
            fill_blanks(prompts.graph, {"types": self.schema.types_text(prompts)})
            if self.form == "graph"
            else prompts.triplets
        ]
        parts.append(self.schema.rules_text(prompts))
        if self.question:
            parts += [prompts.question, mark("question", self.question)]
        examples = self.examples.in_language(task.language)
        if examples:
            parts.append(prompts.examples)
        for shown in examples:
            lines = shown.as_lines(triplets=self.form == "triplets")
            parts.append(f"{mark('example', shown.text)}\n{lines}")
        if task.memory:
            parts += [prompts.memory, mark("memory", task.memory)]
        parts.append(mark("text", task.text))
        request = chunk_request("\n".join(part for part in parts if part), task)
        if failed is None:
            return request
        shows_none = self.form == "graph" and not examples
        example = prompts.graph_example if shows_none else ""
        return repair_request(request, failed, wording=prompts.repair, example=example)

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply, also if it is in JSON, which some models always write."""
        draft = self._lines.read(reply, cut=cut)
        if not draft.records:
            other = JsonReader().read(reply, cut=cut)
            draft = other if other.records else draft
        return self.schema.admit(draft)


def method_name(
    form: str,
    schema: ExtractionSchema,
    question: str,
    examples: ExtractionExamples,
    prompts: OwnPrompts,
) -> str:
    """Return the name of a method, which changes with all that shapes its requests."""
    parts = [form, prompts_fingerprint(prompts)[:8]]
    if schema:
        parts.append(f"schema-{schema.fingerprint[:8]}")
    if question:
        parts.append(f"question-{content_id(question)[:8]}")
    if examples:
        parts.append(f"examples-{examples.fingerprint[:8]}")
    return "-".join(parts)


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
    request: ChatRequest, failed: FailedReply, *, wording: str, example: str = ""
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


def gleaning_request(
    task: ChunkTask, draft: Draft, *, schema: ExtractionSchema, own: OwnPrompts = BUILT_IN
) -> ChatRequest:
    """Return the request for records that ``draft`` lacks; it lists the names of the draft."""
    prompts = prompts_in(task.language, own)
    ends = [name for r in draft.relations for name in (r.source, r.target)]
    names = dict.fromkeys([*(entity.name for entity in draft.entities), *ends])
    listed = escape_tags("; ".join(names)) or "-"
    wording = fill_blanks(prompts.glean, {"names": listed, "types": schema.types_text(prompts)})
    parts = [wording, schema.rules_text(prompts), mark("text", task.text)]
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
