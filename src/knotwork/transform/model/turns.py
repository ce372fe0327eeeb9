"""The turns of one chunk: ask, ask again where nothing can be read, glean and check if wanted."""

from __future__ import annotations

from dataclasses import dataclass, field

from knotwork.errors import ModelError, ModelUnavailable, Unparsable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork.inference.checked import complete_checked
from knotwork.records import Chunk, Document, Extraction, ReadingStatus
from knotwork.transform.model.assembly import Assembled, Surroundings, assemble
from knotwork.transform.model.drafts import Complaint, Draft
from knotwork.transform.model.gleaning import gleaning_request
from knotwork.transform.model.lines import LineReader
from knotwork.transform.model.methods import ChunkTask, ExtractionMethod
from knotwork.transform.model.outcomes import ChunkOutcome, concerns_one_chunk
from knotwork.transform.model.prompts import prompt_language
from knotwork.transform.model.reflection import check_request, read_check
from knotwork.transform.model.schema import ExtractionSchema


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """A chunk to extract from.

    ``base`` is what the rules found in it, ``memory`` what its prompt recalls of other chunks.
    """

    document: Document
    chunk: Chunk
    base: Extraction
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Turns:
    """Which turns are taken beside the first; each costs about one more call a chunk.

    ``gleanings`` ask for what is missing, and end early when nothing comes. ``checks_relations``
    asks whether the text states each relation.
    """

    gleanings: int = 0
    checks_relations: bool = False
    schema: ExtractionSchema = field(default_factory=ExtractionSchema)
    """What gleaning asks for, and what counts before the rules' own types."""


def extract_chunk(
    model: ChatModel, method: ExtractionMethod, job: ChunkJob, *, turns: Turns | None = None
) -> ChunkOutcome:
    """Extract from one chunk; every reply ends in the outcome or in its complaints.

    A chunk whose reply cannot be read twice, or which its server refuses, is quarantined. Raises
    ModelError for what concerns all chunks: see `concerns_one_chunk`.
    """
    if not _has_words(job.chunk):
        return ChunkOutcome(job.base, ReadingStatus.OK)
    try:
        return _Conversation(model, method, job, turns or Turns()).outcome()
    except Unparsable as error:
        return ChunkOutcome(
            job.base, ReadingStatus.QUARANTINED, reason=error.reason, raw=error.text
        )
    except ModelError as error:
        if not concerns_one_chunk(error):
            raise
        return ChunkOutcome(
            job.base,
            ReadingStatus.QUARANTINED,
            reason=error.message,
            unavailable=isinstance(error, ModelUnavailable),
        )


def first_request(method: ExtractionMethod, job: ChunkJob) -> ChatRequest | None:
    """Return what a chunk is asked first; None for one without words, which is not asked."""
    return method.request(_task_of(job)) if _has_words(job.chunk) else None


def _has_words(chunk: Chunk) -> bool:
    return any(character.isalpha() for character in chunk.text)


def _task_of(job: ChunkJob) -> ChunkTask:
    text = job.chunk.text
    return ChunkTask(text, prompt_language(text), job.document.uri, job.memory)


class _Conversation:
    """The turns of one chunk in order."""

    def __init__(
        self, model: ChatModel, method: ExtractionMethod, job: ChunkJob, turns: Turns
    ) -> None:
        self.model = model
        self.method = method
        self.job = job
        self.turns = turns
        self.made: tuple[Draft, Assembled] | None = None
        self.task = _task_of(job)
        self.around = Surroundings(
            job.document.text, job.memory, self.task.language, typed=bool(turns.schema)
        )

    def outcome(self) -> ChunkOutcome:
        repaired = False
        try:
            draft = self._ask(self.method.request(self.task))
        except Unparsable as error:
            draft = self._ask(self.method.request(self.task, fault=error.reason))
            repaired = True
        draft = self._glean(draft)
        draft = self._check(draft)
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
        """Return the records of a reply. Raises Unparsable where none is of this chunk."""
        draft = self.method.read(reply.text, cut=reply.finish_reason == "length")
        if draft.records:
            if not self._assemble(draft).kept:
                raise Unparsable("Nothing that it names is in the text.")
            return draft
        if draft.says_nothing and reply.finish_reason == "stop":
            return draft
        raise Unparsable(_why_empty(reply, draft))

    def _assemble(self, draft: Draft) -> Assembled:
        if self.made is None or self.made[0] is not draft:  # mostly the one that was checked
            made = assemble(draft, self.job.chunk, self.job.base, self.around)
            self.made = draft, made
        return self.made[1]

    def _glean(self, draft: Draft) -> Draft:
        """Ask for more, at most as often as is wanted; a reply that cannot be read ends it."""
        reader = LineReader(types=self.turns.schema.all_entity_types)

        def read(reply: ChatReply) -> Draft:
            more = reader.read(reply.text, cut=reply.finish_reason == "length")
            if not more.records and not more.says_nothing:
                raise Unparsable(_why_empty(reply, more))
            return self.turns.schema.admit(more)

        for _ in range(self.turns.gleanings):
            request = gleaning_request(self.task, draft, schema=self.turns.schema)
            try:
                more = complete_checked(self.model, request, read)
            except Unparsable as error:
                return draft.with_complaints([Complaint("", f"gleaning: {error.reason}")])
            draft = draft.joined(more)
            if not more.records:
                break
        return draft

    def _check(self, draft: Draft) -> Draft:
        if not self.turns.checks_relations or not draft.relations:
            return draft
        try:
            return complete_checked(
                self.model, check_request(self.task, draft), lambda reply: read_check(reply, draft)
            )
        except Unparsable as error:
            return draft.with_complaints([Complaint("", f"check: {error.reason}")])


def _why_empty(reply: ChatReply, draft: Draft) -> str:
    """Return in one sentence why a reply holds no records."""
    if reply.finish_reason == "filter":
        return "The server withheld the reply."
    if not reply.text.strip():
        return "The reply is empty."
    if draft.cut:
        return "The reply was cut off before its first record."
    first = draft.complaints[0].reason if draft.complaints else "it holds no records"
    return f"No line of it is a record: {first}."
