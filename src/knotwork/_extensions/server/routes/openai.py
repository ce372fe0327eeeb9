"""OpenAI-compatible API below /v1: chat completions with citations, embeddings and models.

Chat answers the last question of a conversation. Earlier turns clarify it, but are not sources.
Unknown fields of a request are ignored, because clients send many.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from knotwork._extensions.server.access import Caller, Server, lease
from knotwork._extensions.server.keys import AccessKey
from knotwork._extensions.server.memories import recalling
from knotwork._extensions.server.responses import (
    EVENT_STREAM_CONTENT,
    EventStream,
    describe_openai_error,
    keep_alive,
    start_stream,
)
from knotwork._extensions.server.routes.ask import ask as answer_question
from knotwork._extensions.server.routes.ask import check_question
from knotwork._extensions.server.schemas import SearchOptions, UnicodeRequest
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._retrieval.retriever_registry import AUTO, RETRIEVERS, retriever_names
from knotwork._run import Progress, Run, Stage, Steps
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
    """A part of a message; only text parts are used."""

    type: str
    text: str = ""


class OpenAIMessage(BaseModel):
    """One turn of a conversation."""

    role: str
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        """The text of the message, without other parts."""
        if isinstance(self.content, list):
            parts = [part.text for part in self.content if part.type == "text"]
            return "\n".join(parts).strip()
        return (self.content or "").strip()


class StreamOptions(BaseModel):
    """Options of a streamed response."""

    include_usage: bool = False


class KnotworkOptions(SearchOptions):
    """Options specific to Knotwork, under the key `knotwork`."""

    sources: Literal["none", "markdown"] = Field(
        default="none", description="Whether to append a list of sources to the text."
    )
    mode: str = Field(default="auto", max_length=40)
    memory: bool = Field(
        default=False,
        description="Whether facts that the key has stated in …/chat are searched first, and cited "
        "as [M1]. They are listed in `memory` of the answer.",
    )


class ChatRequest(UnicodeRequest):
    """A conversation; its last user message is the question."""

    model: Annotated[str, Field(max_length=600)] = Field(
        description="WORKSPACE or WORKSPACE:RETRIEVER, as listed by GET /v1/models."
    )
    messages: list[OpenAIMessage] = Field(min_length=1, max_length=1_000)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, ge=1, le=1, description="Only one answer is supported.")
    knotwork: KnotworkOptions = KnotworkOptions()


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
    """A model: a workspace, or a workspace with a retriever."""

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
class _Conversation:
    """A chat request, and the fields shared by all parts of its response."""

    asked: ChatRequest
    workspace: str
    base_url: str
    id: str
    created: int

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

    def annotate(self, answer: Answer, *, shift: int = 0) -> list[Annotation]:
        """Return an annotation for each citation mark such as [1] in the text of an answer.

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
            Annotation(
                url_citation=UrlCitation(
                    start_index=shift + start,
                    end_index=shift + end,
                    title=citation.title or citation.document,
                    url=self.url_of(citation),
                )
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

    def chunk(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        """Return one chunk of a streamed response."""
        body = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.asked.model,
            "choices": choices,
            **more,
        }
        return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()

    def delta(self, delta: dict[str, Any], *, finish: str | None = None) -> bytes:
        """Return a chunk with the next part of the answer."""
        return self.chunk([{"index": 0, "delta": delta, "finish_reason": finish}])


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
    name, retriever = split_model(asked.model)
    text = next((m.text for m in reversed(asked.messages) if m.role == "user"), "")
    if not text:
        raise InvalidRequest(
            "There is no user message with text.", fix='Send {"role": "user", "content": "…"}.'
        )
    options = asked.knotwork
    question = AskRequest(
        text,
        retriever,
        turns=tuple(earlier_turns(asked.messages)),
        **options.model_dump(exclude={"sources", "memory"}),
    )
    question = check_question(server, key, question)
    identifier = f"chatcmpl-{secrets.token_hex(12)}"
    base_url = str(request.base_url)
    conversation = _Conversation(asked, name, base_url, identifier, int(time.time()))

    def answer_within_lease() -> Steps[Answer]:
        with lease_model(server, key, asked.model) as workspace:
            if not options.memory:
                return (yield from answer_question.run(server, workspace, question))
            with recalling(key, workspace, question) as recalled:
                return (yield from answer_question.run(server, workspace, recalled))

    threads = server.threads_for(question)
    if asked.stream:
        started = await start_stream(threads.iterate(answer_within_lease))
        return EventStream(keep_alive(_stream_chunks(started, conversation)))
    answer = await threads.run(lambda: Run(answer_within_lease()).result())
    message = AssistantMessage(
        content=answer.lead + answer.text + conversation.sources(answer),
        annotations=conversation.annotate(answer, shift=len(answer.lead)),
    )
    return ChatCompletion(
        id=conversation.id,
        created=conversation.created,
        model=asked.model,
        choices=[Choice(message=message)],
        usage=_count_tokens_used(answer),
        knotwork=ANSWER(answer),
    )


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
    steps: AsyncGenerator[Progress], conversation: _Conversation
) -> AsyncGenerator[bytes]:
    """Yield the role, the text, all annotations, the end, and the token usage if requested."""
    sent = _SentText()
    answer: Answer | None = None
    try:
        yield conversation.delta({"role": "assistant", "content": ""})
        async with aclosing(steps) as events:
            async for event in events:
                answer = event.value if event.stage == Stage.FINISHED else answer
                if piece := sent.add(event):
                    yield conversation.delta({"content": piece})
        assert answer is not None, "the last event has the answer"
        for piece in sent.finish(answer, conversation.sources(answer)):
            yield conversation.delta({"content": piece})
        shift = len(sent.withdrawn) + len(answer.lead)
        annotations = conversation.annotate(answer, shift=shift)
        if annotations:
            listed = [{"index": n, **a.model_dump(mode="json")} for n, a in enumerate(annotations)]
            yield conversation.delta({"annotations": listed})
        yield conversation.delta({}, finish="stop")
        options = conversation.asked.stream_options
        if options and options.include_usage:
            yield conversation.chunk([], usage=_count_tokens_used(answer).model_dump())
        yield _DONE
    except KnotworkError as error:
        # No [DONE]: clients must not take the text so far for a complete answer.
        yield f"data: {json.dumps({'error': describe_openai_error(error)})}\n\n".encode()


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
    """List the workspaces that the key may see, each alone and with each retriever."""
    names = await server.threads.run(server.workspaces.names)
    retrievers = retriever_names()
    return ModelList(
        data=[
            ModelShape(id=name if not retriever else f"{name}{MODEL_SEPARATOR}{retriever}")
            for name in names
            if key.may_see(name)
            for retriever in ("", *retrievers)
        ]
    )


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
