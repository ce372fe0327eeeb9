"""Extract by rules, and ask a language model about each chunk.

The requests of a chunk are made one after another: the first request, a second one if the reply is
unusable, then gleaning and the check if enabled. Each chunk ends in a `ChunkOutcome` that the
pipeline stores, lists and retries. A run stops if the server does not respond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from knotwork._extensions.model_indexing.chunk_memory import MEMORY_TOKENS, recall_similar
from knotwork._extensions.model_indexing.extraction_method import (
    ChunkTask,
    ExtractionMethod,
    check_request,
    gleaning_request,
    read_check,
)
from knotwork._extensions.model_indexing.reply_formats import NO_JSON, Complaint, Draft, read_lines
from knotwork._extensions.model_indexing.reply_grounding import Assembled, ReplyContext, assemble
from knotwork._indexing.prepare import Recall
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    complete_checked,
    concerns_one_request,
)
from knotwork._text.languages import prompt_language
from knotwork.errors import ModelError, ModelUnavailable, Unparsable
from knotwork.records import Chunk, Description, Document, Extraction, ReadingStatus

_SHOWN_NAMES = 3
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """How a model reads chunks, on top of what the rules found. Thread-safe if the model is.

    ``memory_tokens`` is the limit of the memory in each prompt, 0 for none, and ``concurrency`` the
    number of chunks that are read at a time.
    """

    model: ChatModel
    method: ExtractionMethod = field(default_factory=ExtractionMethod)
    memory_tokens: int = MEMORY_TOKENS
    concurrency: int = 8

    @property
    def recall(self) -> Recall:
        """What finds the memory of each chunk of a document, to be sent to other processes."""
        return partial(recall_similar, limit_tokens=self.memory_tokens)

    def request(self, job: ChunkJob) -> ChatRequest | None:
        """Return the first request for a chunk; None for a chunk without words."""
        return self.method.request(job.task) if job.has_words else None

    def extract_chunk(self, job: ChunkJob) -> ChunkOutcome:
        """Extract from one chunk; unusable parts of replies become complaints of the outcome.

        A chunk is quarantined if two replies are unreadable or the server refuses its request.
        Raises ModelError for errors that concern all chunks, see `concerns_one_request`.
        """
        if not job.has_words:
            return ChunkOutcome(job.base, ReadingStatus.OK)
        reason, raw, unavailable = "", "", False
        try:
            return _ChunkConversation(self.model, self.method, job).outcome()
        except Unparsable as error:
            reason, raw = error.reason, error.text
        except ModelError as error:
            if not concerns_one_request(error):
                raise
            reason, unavailable = str(error), isinstance(error, ModelUnavailable)
        return ChunkOutcome(
            job.base, ReadingStatus.QUARANTINED, reason=reason, raw=raw, unavailable=unavailable
        )


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """A chunk to extract from.

    ``base`` is the result of the rules, ``memory`` the lines about other chunks for its prompt.
    """

    document: Document
    chunk: Chunk
    base: Extraction
    memory: str = ""

    @property
    def has_words(self) -> bool:
        """False for a chunk that no model needs to read."""
        return any(character.isalpha() for character in self.chunk.text)

    @property
    def task(self) -> ChunkTask:
        """What the prompts need."""
        text = self.chunk.text
        return ChunkTask(text, prompt_language(text), self.document.uri, self.memory)


class _ChunkConversation:
    """The requests of one chunk, one after another."""

    def __init__(self, model: ChatModel, method: ExtractionMethod, job: ChunkJob) -> None:
        self.model = model
        self.method = method
        self.job = job
        self.made: tuple[Draft, Assembled] | None = None
        self.task = job.task
        self.around = ReplyContext(
            job.document.text, job.memory, self.task.language, typed=bool(method.schema)
        )

    def outcome(self) -> ChunkOutcome:
        repaired = False
        try:
            draft = self._ask(self.method.request(self.task))
        except Unparsable as error:
            draft = self._ask(self.method.request(self.task, failed=error))
            repaired = True
        draft = self._check(self._glean(draft))
        made = self._assemble(draft)
        complaints = (*draft.complaints, *made.complaints)
        if draft.cut:
            complaints += (Complaint("", "the reply was cut off at its limit of tokens"),)
        status = ReadingStatus.PARTIAL if complaints else ReadingStatus.OK
        return ChunkOutcome(
            made.extraction, status, made.descriptions, complaints, repaired=repaired
        )

    def _ask(self, request: ChatRequest) -> Draft:
        return complete_checked(self.model, request, self._read)

    def _read(self, reply: ChatReply) -> Draft:
        draft = self.method.read(reply.text, cut=reply.finish_reason == "length")
        if draft.records:
            if not (made := self._assemble(draft)).kept:
                names = dict.fromkeys(f"`{_shown(c.line)}`" for c in made.complaints)
                listed = ", ".join(list(names)[:_SHOWN_NAMES])
                raise Unparsable(f"No name in it occurs in the text: {listed}.")
            return draft
        if draft.says_nothing and reply.finish_reason == "stop":
            return draft
        raise Unparsable(_why_empty(reply, draft))

    def _assemble(self, draft: Draft) -> Assembled:
        if self.made is None or self.made[0] is not draft:  # usually assembled by `_read`
            made = assemble(draft, self.job.chunk, self.job.base, self.around)
            self.made = draft, made
        return self.made[1]

    def _glean(self, draft: Draft) -> Draft:
        """Ask for missing records, as often as configured; an unreadable reply ends it."""
        for _ in range(self.method.gleanings):
            request = gleaning_request(self.method, self.task, draft)
            try:
                more = complete_checked(self.model, request, self._read_more)
            except Unparsable as error:
                return draft.with_complaints([Complaint("", f"gleaning: {error.reason}")])
            draft = draft.merged(more)
            if not more.records:
                break
        return draft

    def _read_more(self, reply: ChatReply) -> Draft:
        types = self.method.schema.all_entity_types
        more = read_lines(reply.text, types=types, cut=reply.finish_reason == "length")
        if not more.records and not more.says_nothing:
            raise Unparsable(_why_empty(reply, more))
        return self.method.schema.admit(more)

    def _check(self, draft: Draft) -> Draft:
        if not self.method.checks_relations or not draft.relations:
            return draft
        request = check_request(self.task, draft, self.method.prompts)
        try:
            return complete_checked(self.model, request, lambda reply: read_check(reply, draft))
        except Unparsable as error:
            return draft.with_complaints([Complaint("", f"check: {error.reason}")])


def _why_empty(reply: ChatReply, draft: Draft) -> str:
    if reason := reply.why_empty:
        return reason
    if draft.cut:
        return "The reply was cut off before its first record."
    if not draft.complaints:
        return "No line of it is a record: it has no records."
    first = draft.complaints[0]
    if first.reason == NO_JSON:
        return "It is not the JSON object that was asked for."
    lines = [line.strip() for line in reply.text.splitlines()]
    number = lines.index(first.line) + 1 if first.line in lines else 0
    where = f"line {number} (`{_shown(first.line)}`): " if number else ""
    return f"No line of it is a record: {where}{first.reason}."


def _shown(line: str) -> str:
    plain = " ".join(line.replace("`", "'").split())
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class ChunkOutcome:
    """A chunk's contributions, and how its extraction ended.

    A quarantined chunk has a ``reason``, and ``raw`` is its unreadable reply, if there was one, now
    or in an earlier run. ``unavailable`` is True if the server did not respond. ``repaired`` is
    True if the second request succeeded.
    """

    extraction: Extraction
    status: ReadingStatus
    descriptions: tuple[Description, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    reason: str = ""
    raw: str = ""
    repaired: bool = False
    unavailable: bool = False

    @property
    def chunk_id(self) -> str:
        """The id of the chunk."""
        return self.extraction.chunk_id

    @property
    def absence(self) -> str:
        """Why the server did not respond; "" if it did."""
        return (self.reason or "no reason was given") if self.unavailable else ""
