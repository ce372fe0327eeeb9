"""OpenAI-compatible API below /v1: chats and responses with citations, embeddings and models.

The last question of a conversation is answered. Earlier turns clarify it, but are not sources.
Unknown fields of a request are ignored, because clients send many; those that ask for another kind
of answer are refused.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from knotwork._extensions.server.access import Caller, Server, lease
from knotwork._extensions.server.keys import AccessKey
from knotwork._extensions.server.limits import Threads
from knotwork._extensions.server.memories import recalling
from knotwork._extensions.server.responses import (
    EVENT_STREAM_CONTENT,
    EventStream,
    describe_openai_error,
    format_event,
    keep_alive,
    start_stream,
)
from knotwork._extensions.server.routes.ask import ask as answer_question
from knotwork._extensions.server.routes.ask import check_question
from knotwork._extensions.server.schemas import (
    RequestModel,
    Retriever,
    SearchOptions,
    UnicodeRequest,
)
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._retrieval.retriever_registry import AUTO, RETRIEVERS
from knotwork._run import Progress, Run, Stage, Steps
from knotwork._shapes.base import Json
from knotwork._shapes.results import ANSWER, split_pieces
from knotwork._synthesis.ask_request import AskRequest
from knotwork._synthesis.follow_ups import MOST_TURNS
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError, InvalidRequest, KnotworkError, NotFound, RequestTooLarge
from knotwork.records import Answer, Citation, Document


class OpenAIErrorBody(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(BaseModel):
    """The response to a failed request."""

    error: OpenAIErrorBody


class ContentPart(BaseModel):
    """A part of a message; only parts of the types in `_TEXT_PARTS` are used."""

    type: str
    text: str = ""


_TEXT_PARTS = ("text", "input_text", "output_text")


class OpenAIMessage(BaseModel):
    """One turn of a conversation."""

    role: str
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        """The text of the message, without other parts."""
        if isinstance(self.content, list):
            parts = [part.text for part in self.content if part.type in _TEXT_PARTS]
            return "\n".join(parts).strip()
        return (self.content or "").strip()


class StreamOptions(UnicodeRequest):
    """Options of a streamed response."""

    include_usage: bool = False


class KnotworkOptions(RequestModel, SearchOptions):
    """Options specific to Knotwork, under the key `knotwork`."""

    retriever: Retriever = None
    sources: Literal["none", "markdown"] = Field(
        default="none", description="Whether to append a list of sources to the text."
    )
    mode: str = Field(default="auto", max_length=40)
    memory: bool = Field(
        default=False,
        description="Whether facts that the key has stated in …/chat are searched first, and cited "
        "as [M1]. They are listed in `memory` of the answer.",
    )


class QuestionRequest(UnicodeRequest):
    """What both kinds of questions have in common."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(max_length=600)] = Field(
        description="A workspace, as listed by GET /v1/models. WORKSPACE:RETRIEVER is short for "
        "`knotwork.retriever`, for programs that can choose only a model."
    )
    stream: bool = False
    knotwork: KnotworkOptions = KnotworkOptions()


class ChatRequest(QuestionRequest):
    """A conversation; its last user message is the question."""

    messages: list[OpenAIMessage] = Field(min_length=1, max_length=1_000)
    stream_options: StreamOptions | None = None


class InputItem(OpenAIMessage):
    """A message of a conversation. Earlier reasoning is ignored."""

    type: Literal["message", "reasoning"] = "message"
    role: str = ""


class ResponseRequest(QuestionRequest):
    """A question, or a conversation whose last user message is the question."""

    input: str | Annotated[list[InputItem], Field(min_length=1, max_length=1_000)]

    @property
    def messages(self) -> list[OpenAIMessage]:
        """The turns of the conversation."""
        if isinstance(self.input, str):
            return [OpenAIMessage(role="user", content=self.input)]
        return list(self.input)


_UNSUPPORTED: dict[str, tuple[object, ...]] = {
    "n": (1,),
    "tools": ([],),
    "tool_choice": ("auto", "none"),
    "functions": ([],),
    "function_call": ("auto", "none"),
    "response_format": ({"type": "text"},),
    "text.format": ({"type": "text"},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "modalities": (["text"],),
    "audio": (),
    "background": (False,),
    "conversation": (),
    "previous_response_id": (),
    "prompt": (),
}
"""Fields that ask for another kind of answer, with the values besides null that do not."""


class UnsupportedValue(InvalidRequest):
    """A field asks for what Knotwork does not do."""

    code = "unsupported_value"
    http_status = 400


class UrlCitation(BaseModel):
    """A citation mark and its link; indexes are in characters (Unicode code points)."""

    start_index: int
    end_index: int
    title: str
    url: str


class Annotation(BaseModel):
    """A citation mark such as [1] in the text, with its source."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class AssistantMessage(BaseModel):
    """An answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation]


class ResponseShape(BaseModel):
    """The response to a question; ``knotwork`` is the answer as in /api/v1, once it is completed.

    The ``output`` is one message, whose content is one text with annotations.
    """

    id: str
    object: Literal["response"] = "response"
    created_at: int
    model: str
    status: Literal["in_progress", "completed", "failed"] = "in_progress"
    output: list[Json] = []
    usage: Json | None = Field(default=None, description="The tokens of a language model.")
    error: OpenAIErrorBody | None = None
    parallel_tool_calls: bool = False
    tool_choice: Literal["none"] = "none"
    tools: list[Any] = []
    knotwork: Annotated[Any, ANSWER] | None = None


class Choice(BaseModel):
    """The only answer."""

    index: int = 0
    message: AssistantMessage
    finish_reason: Literal["stop"] = "stop"
    logprobs: None = None


class TokenCounts(BaseModel):
    """The tokens of a language model; 0 if none was used."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(BaseModel):
    """The response to a conversation; ``knotwork`` is the answer as in /api/v1."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: TokenCounts
    knotwork: Annotated[Any, ANSWER]


class ModelShape(BaseModel):
    """A model: a workspace."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "knotwork"


class ModelList(BaseModel):
    """The models that the key may use."""

    object: Literal["list"] = "list"
    data: list[ModelShape]


class EmbeddingRequest(UnicodeRequest):
    """Texts to embed with the embedder of a workspace."""

    model: str = Field(max_length=200, description="A workspace.")
    input: str | Annotated[list[str], Field(min_length=1, max_length=2_048)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, ge=1, le=65_536)


class EmbeddingShape(BaseModel):
    """One vector: numbers, or base64 of little-endian 32-bit floats."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """The approximate number of tokens of the texts."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(BaseModel):
    """The vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: list[EmbeddingShape]
    model: str
    usage: EmbeddingUsage


router = APIRouter(tags=["openai"])

TURN_CHARACTERS = 2_000
"""Number of characters used of each earlier question and answer."""

_DONE = b"data: [DONE]\n\n"
_WITHDRAWN_NOTICE = "\n\n(Please disregard the text above.)\n\n"
_SENTENCE = re.compile(r".*?\]\s*|.+", re.DOTALL)
_CITATION_MARK = re.compile(r"\[(\d{1,4})\]")
_QUOTE_LENGTH = 160


@dataclass(frozen=True, slots=True)
class _Written:
    """A complete answer, its text as sent, and the marks in this text."""

    answer: Answer
    text: str
    citations: list[UrlCitation]


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A question, how to answer it, and the fields shared by all parts of its response."""

    asked: QuestionRequest
    workspace: str
    base_url: str
    threads: Threads
    answer: Callable[[], Steps[Answer]]

    async def write(self) -> _Written:
        """Answer the question."""
        return self._finish(await self.threads.run(lambda: Run(self.answer()).result()))

    async def stream(self) -> AsyncGenerator[str | _Written]:
        """Return an iterator of the pieces of the text and, last, of all of it."""
        return self._pieces(await start_stream(self.threads.iterate(self.answer)))

    async def _pieces(self, steps: AsyncGenerator[Progress]) -> AsyncGenerator[str | _Written]:
        sent = _SentText()
        answer: Answer | None = None
        async with aclosing(steps) as events:
            async for event in events:
                answer = event.value if event.stage == Stage.FINISHED else answer
                if piece := sent.add(event):
                    yield piece
        assert answer is not None, "the last event has the answer"
        for piece in sent.finish(answer, self.sources(answer)):
            yield piece
        yield self._finish(answer, sent.withdrawn)

    def _finish(self, answer: Answer, withdrawn: str = "") -> _Written:
        before = withdrawn + answer.lead
        text = before + answer.text + self.sources(answer)
        return _Written(answer, text, self.annotate(answer, shift=len(before)))

    def url_of(self, citation: Citation) -> str:
        """Return the URL of the web page that shows a citation in its document."""
        query = {
            "ws": self.workspace,
            "chunk": citation.chunk_id,
            "start": citation.span.start,
            "end": citation.span.end,
        }
        document = Document(citation.document, "").id
        return f"{self.base_url.rstrip('/')}/ui/documents/{document}?{urlencode(query)}"

    def annotate(self, answer: Answer, *, shift: int = 0) -> list[UrlCitation]:
        """Return the place and the link of each mark such as [1] in the text of an answer.

        Without an answer, the text has no marks, and the nearest passages are annotated at its end.
        ``shift`` is added to all offsets.
        """
        by_number = {citation.number: citation for citation in answer.citations}
        text = answer.text
        marks = [
            (match.start(), match.end(), by_number[int(match[1])])
            for match in _CITATION_MARK.finditer(text)
            if answer.answered and int(match[1]) in by_number
        ]
        if not answer.answered:
            marks = [(len(text), len(text), citation) for citation in answer.citations]
        return [
            UrlCitation(
                start_index=shift + start,
                end_index=shift + end,
                title=citation.title or citation.document,
                url=self.url_of(citation),
            )
            for start, end, citation in marks
        ]

    def sources(self, answer: Answer) -> str:
        """Return the sources as a Markdown list to append to the text, if it was requested."""
        if self.asked.knotwork.sources != "markdown":
            return ""
        lines = [
            f"- [M{fact.number}] {_escape_markdown(fact.text)} ({_escape_markdown(fact.source)})"
            for fact in answer.memory
        ]
        for citation in answer.citations:
            place = ", ".join(part for part in (citation.document, citation.section) if part)
            link = f"[{_escape_markdown(place)}]({self.url_of(citation)})"
            lines.append(f"{citation.number}. {link}: {_escape_markdown(citation.quote)}")
        return "\n\n" + "\n".join(lines) if lines else ""


def _converse(
    request: Request,
    key: AccessKey,
    server: Service,
    asked: QuestionRequest,
    messages: Sequence[OpenAIMessage],
) -> _Conversation:
    """Return the conversation of a request.

    Raises as `check_question`; UnsupportedValue; InvalidRequest without a question.
    """
    _check_supported(asked)
    name, retriever = split_model(asked.model)
    text = next((m.text for m in reversed(messages) if m.role == "user"), "")
    if not text:
        raise InvalidRequest(
            "There is no user message with text.", fix='Send {"role": "user", "content": "…"}.'
        )
    options = asked.knotwork.model_dump(exclude={"sources", "memory"})
    options["retriever"] = options["retriever"] or retriever
    turns = tuple(earlier_turns(messages))
    question = check_question(server, key, AskRequest(text, turns=turns, **options))

    def answer() -> Steps[Answer]:
        with lease_model(server, key, asked.model) as workspace:
            if not asked.knotwork.memory:
                return (yield from answer_question.run(server, workspace, question))
            with recalling(key, workspace, question) as recalled:
                return (yield from answer_question.run(server, workspace, recalled))

    threads = server.threads_for(question)
    return _Conversation(asked, name, str(request.base_url), threads, answer)


def _check_supported(asked: QuestionRequest) -> None:
    given = dict(asked.model_extra or {})
    if isinstance(text := given.get("text"), dict):
        given["text.format"] = text.get("format")
    for name, valid in _UNSUPPORTED.items():
        without = [json.dumps(value) for value in valid]  # for Python, 1 is equal to True
        if given.get(name) is not None and json.dumps(given[name]) not in without:
            others = " or ".join(without)
            raise UnsupportedValue(
                f"`{name}` is not supported: the answer is one text with citations.",
                fix=f"Leave it out, or send {others}." if others else "Leave it out.",
                field=name,
            )


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    responses={200: {"content": EVENT_STREAM_CONTENT}},
)
async def complete_chat(
    request: Request, key: Caller, server: Server, asked: ChatRequest
) -> ChatCompletion | Response:
    """Answer the last question of a conversation, with citations as [1] and annotations.

    A follow-up such as "and when was it built?" is rewritten with the help of the earlier turns;
    the notes under `knotwork` show how.
    """
    conversation = _converse(request, key, server, asked, asked.messages)
    identifier = f"chatcmpl-{secrets.token_hex(12)}"
    if asked.stream:
        parts = await conversation.stream()
        return EventStream(keep_alive(_stream_chunks(parts, asked, identifier)))
    written = await conversation.write()
    annotations = [Annotation(url_citation=citation) for citation in written.citations]
    message = AssistantMessage(content=written.text, annotations=annotations)
    return ChatCompletion(
        id=identifier,
        created=int(time.time()),
        model=asked.model,
        choices=[Choice(message=message)],
        usage=_count_tokens_used(written.answer),
        knotwork=ANSWER(written.answer),
    )


@router.post(
    "/responses",
    response_model=ResponseShape,
    responses={200: {"content": EVENT_STREAM_CONTENT}},
)
async def create_response(
    request: Request, key: Caller, server: Server, asked: ResponseRequest
) -> ResponseShape | Response:
    """Answer a question as /v1/chat/completions does, in the format of the Responses API.

    Responses are not stored. Events of a stream are those of OpenAI, from `response.created` to
    `response.completed` or `response.failed`.
    """
    conversation = _converse(request, key, server, asked, asked.messages)
    identifier = f"resp_{secrets.token_hex(12)}"
    begun = ResponseShape(id=identifier, created_at=int(time.time()), model=asked.model)
    if asked.stream:
        return EventStream(keep_alive(_stream_response(await conversation.stream(), begun)))
    return _complete(begun, await conversation.write())


def earlier_turns(messages: Sequence[OpenAIMessage]) -> list[tuple[str, str]]:
    """Return the questions before the last one, each with its answer or ""."""
    turns: list[tuple[str, str]] = []
    for message in messages:
        if message.role == "user" and message.text:
            turns.append((message.text[:TURN_CHARACTERS], ""))
        elif message.role == "assistant" and turns:
            question, answer = turns[-1]
            turns[-1] = question, f"{answer}\n{message.text}"[:TURN_CHARACTERS].strip()
    return turns[-1 - MOST_TURNS : -1]


async def _stream_chunks(
    parts: AsyncGenerator[str | _Written], asked: ChatRequest, identifier: str
) -> AsyncGenerator[bytes]:
    """Yield the role, the text, all annotations, the end, and the token usage if requested."""
    created = int(time.time())

    def chunk(choices: list[dict[str, Any]], **more: object) -> bytes:
        kind = "chat.completion.chunk"
        body = {"id": identifier, "object": kind, "created": created, "model": asked.model}
        return format_event({**body, "choices": choices, **more})

    def delta(delta: dict[str, Any], *, finish: str | None = None) -> bytes:
        return chunk([{"index": 0, "delta": delta, "finish_reason": finish}])

    try:
        async with aclosing(parts) as pieces:
            yield delta({"role": "assistant", "content": ""})
            async for piece in pieces:
                if isinstance(piece, str):
                    yield delta({"content": piece})
                    continue
                annotations = [Annotation(url_citation=citation) for citation in piece.citations]
                if listed := [{"index": n, **dict(one)} for n, one in enumerate(annotations)]:
                    yield delta({"annotations": listed})
                yield delta({}, finish="stop")
                if asked.stream_options and asked.stream_options.include_usage:
                    yield chunk([], usage=_count_tokens_used(piece.answer))
        yield _DONE
    except KnotworkError as error:
        # No [DONE]: clients must not take the text so far for a complete answer.
        yield format_event({"error": describe_openai_error(error)})


async def _stream_response(
    parts: AsyncGenerator[str | _Written], begun: ResponseShape
) -> AsyncGenerator[bytes]:
    """Yield the events of a response."""
    numbers = count()
    item = _message(begun, "in_progress")
    text = {"item_id": item["id"], "output_index": 0, "content_index": 0}

    def event(kind: str, **more: object) -> bytes:
        kind = f"response.{kind}"
        return format_event({"type": kind, "sequence_number": next(numbers), **more}, event=kind)

    try:
        async with aclosing(parts) as pieces:
            yield event("created", response=begun)
            yield event("in_progress", response=begun)
            yield event("output_item.added", output_index=0, item=item)
            yield event("content_part.added", **text, part=_text(""))
            async for piece in pieces:
                if isinstance(piece, str):
                    yield event("output_text.delta", **text, delta=piece, logprobs=[])
                    continue
                done = _complete(begun, piece)
                (item,) = done.output
                (part,) = item["content"]
                for number, one in enumerate(part["annotations"]):
                    place = {**text, "annotation_index": number}
                    yield event("output_text.annotation.added", **place, annotation=one)
                yield event("output_text.done", **text, text=piece.text, logprobs=[])
                yield event("content_part.done", **text, part=part)
                yield event("output_item.done", output_index=0, item=item)
                yield event("completed", response=done)
    except KnotworkError as error:
        body = OpenAIErrorBody.model_validate(describe_openai_error(error))
        failed = begun.model_copy(update={"status": "failed", "error": body})
        yield event("failed", response=failed)


def _complete(begun: ResponseShape, written: _Written) -> ResponseShape:
    """Return the response that has its answer."""
    used = _count_tokens_used(written.answer)
    usage = {
        "input_tokens": used.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": used.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.total_tokens,
    }
    output = [_message(begun, "completed", _text(written.text, written.citations))]
    told = {"status": "completed", "usage": usage, "knotwork": ANSWER(written.answer)}
    return begun.model_copy(update={**told, "output": output})


def _message(response: ResponseShape, status: str, *parts: Json) -> Json:
    given = {"id": f"msg_{response.id}", "status": status, "content": parts}
    return {"type": "message", "role": "assistant", **given}


def _text(text: str, citations: Sequence[UrlCitation] = ()) -> Json:
    cited = [{"type": "url_citation", **dict(citation)} for citation in citations]
    return {"type": "output_text", "text": text, "annotations": cited, "logprobs": []}


class _SentText:
    """The text sent so far. Sent text cannot be removed, so a notice follows if it is withdrawn."""

    def __init__(self) -> None:
        self.withdrawn = ""
        self._text = ""

    def add(self, event: Progress) -> str:
        """Return the text to send for an event."""
        if event.stage == Stage.TEXT:
            self._text += event.note
            return event.note
        return self._withdraw() if event.stage == Stage.WITHDRAWN else ""

    def finish(self, answer: Answer, sources: str) -> Iterator[str]:
        """Yield the rest of the answer piece by piece or sentence by sentence, and the sources."""
        if not answer.text.startswith(self._text):
            yield self._withdraw()
        if answer.lead:  # only quoted answers have one, and they are not streamed before
            yield answer.lead
        if answer.pieces and not self._text:
            yield from split_pieces(answer)
        else:
            yield from _SENTENCE.findall(answer.text[len(self._text) :])
        if sources:
            yield sources

    def _withdraw(self) -> str:
        if not self._text:
            return ""
        self.withdrawn += self._text + _WITHDRAWN_NOTICE
        self._text = ""
        return _WITHDRAWN_NOTICE


def _count_tokens_used(answer: Answer) -> TokenCounts:
    tokens_in, tokens_out = answer.usage.input_tokens, answer.usage.output_tokens
    return TokenCounts(
        prompt_tokens=tokens_in, completion_tokens=tokens_out, total_tokens=tokens_in + tokens_out
    )


_MOST_EMBEDDED_CHARACTERS = 500_000


@router.post("/embeddings")
async def embed_texts(key: Caller, server: Server, asked: EmbeddingRequest) -> EmbeddingList:
    """Return the vectors of texts, embedded like questions."""
    with lease_model(server, key, asked.model) as workspace:
        return await server.threads.run(_embed, workspace, asked)


def _embed(workspace: Workspace, asked: EmbeddingRequest) -> EmbeddingList:
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    if sum(map(len, texts)) > _MOST_EMBEDDED_CHARACTERS:
        raise RequestTooLarge(
            f"The texts have more than {_MOST_EMBEDDED_CHARACTERS:,} characters in total.",
            fix="Send fewer at a time.",
        )
    embedder = workspace.base.embedder
    if embedder is None:
        raise ConfigError(
            "The workspace has no embedder.", fix="Set embedding.model, or install its extra."
        )
    if asked.dimensions not in (None, embedder.dimension):
        raise ConfigError(
            f"`{embedder.name}` supports only {embedder.dimension} dimensions, not "
            f"{asked.dimensions}.",
            fix="Omit `dimensions`.",
        )
    rows = embedder.embed(texts)
    as_base64 = asked.encoding_format == "base64"
    tokens = sum(map(count_tokens, texts))
    return EmbeddingList(
        data=[
            EmbeddingShape(
                index=index,
                embedding=base64.b64encode(row.astype("<f4").tobytes()).decode()
                if as_base64
                else [float(value) for value in row],
            )
            for index, row in enumerate(rows)
        ],
        model=embedder.name,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


MODEL_SEPARATOR = ":"


@router.get("/models")
async def list_models(key: Caller, server: Server) -> ModelList:
    """List the workspaces that the key may see."""
    names = await server.threads.run(server.workspaces.names)
    return ModelList(data=[ModelShape(id=name) for name in names if key.may_see(name)])


@router.get("/models/{model:path}")
async def show_model(key: Caller, server: Server, model: str) -> ModelShape:
    """Return a model, if it exists."""
    _, retriever = split_model(model)
    with lease_model(server, key, model):
        if retriever and retriever != AUTO and retriever not in RETRIEVERS:
            raise model_not_found(model)
        return ModelShape(id=model)


def split_model(model: str) -> tuple[str, str | None]:
    """Split the name of a model into its workspace and its retriever, if any."""
    workspace, _, retriever = model.partition(MODEL_SEPARATOR)
    return workspace, retriever.strip() or None


@contextmanager
def lease_model(server: Service, key: AccessKey, model: str) -> Iterator[Workspace]:
    """Keep the workspace of a model open. Raises NotFound if it does not exist for this key."""
    with ExitStack() as stack:
        try:
            workspace = stack.enter_context(lease(server, split_model(model)[0], key))
        except NotFound:
            raise model_not_found(model) from None
        yield workspace


def model_not_found(model: str) -> NotFound:
    """Return the error for a model that does not exist or that the key may not see.

    It is the same for both, so that keys cannot probe for names.
    """
    return NotFound(
        f"Unknown model `{model}`, or the key has no access to it.",
        fix="List models: GET /v1/models",
    )


def _escape_markdown(text: str) -> str:
    """Return a text on one line, cut and with Markdown characters escaped."""
    line = " ".join(text.split())[:_QUOTE_LENGTH]
    return re.sub(r"([\\`*_\[\]<>()!#|])", r"\\\1", line)
