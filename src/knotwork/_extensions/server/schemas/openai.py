"""Request and response models of the OpenAI-compatible API.

Unknown fields of a request are ignored, because clients send many.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from knotwork._extensions.server.schemas.answers import SearchOptions, UnicodeRequest
from knotwork._shapes.answers import AnswerShape


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


class ChatMessage(BaseModel):
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
    messages: list[ChatMessage] = Field(min_length=1, max_length=1_000)
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
    knotwork: AnswerShape


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
