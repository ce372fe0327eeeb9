"""The registry of chat models: "SCHEME:MODEL" names one; each is imported when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from knotwork.config import LlmSettings
from knotwork.inference.chat import ChatModel
from knotwork.inference.halt import Halt
from knotwork.inference.pacing import PacedChat, Pacer
from knotwork.inference.retries import RetryPolicy
from knotwork.inference.retrying import RetryingChat
from knotwork.inference.specs import NONE, choose_factory

NO_CHAT_MODEL = NONE
ModelRole = Literal["extract", "summarize", "keyword", "answer", "judge"]
MODEL_ROLES: tuple[ModelRole, ...] = get_args(ModelRole)
Factory = Callable[[str, LlmSettings], ChatModel]
_JITTER = 0.5


def chat_model_spec(settings: LlmSettings, role: ModelRole | None = None) -> str:
    """Return the name of the model for a role: its own setting, else ``llm.model``."""
    own = getattr(settings, role) if role else ""
    return own.strip() or settings.model


def open_chat_model(
    settings: LlmSettings, *, role: ModelRole | None = None, halt: Halt | None = None
) -> ChatModel | None:
    """Return the chat model for a role, with its pace and retries, or None where it is "none".

    Use `ChatModels` for more than one role, so that they share the limits of their server. Cheap:
    the server is asked on first use. Raises UnknownName for an unknown scheme, MissingExtra when
    its library is not installed, and ConfigError otherwise.
    """
    return ChatModels(settings, halt=halt).open(role)


class ChatModels:
    """The chat models of all roles, which share one pace, as they share one server.

    ``halt`` ends all waits when it is set; ``retries`` are by default those of `RetryPolicy` with
    jitter. Roles with the same model get the same object. Use from one thread; what it returns is
    safe to use from many.
    """

    def __init__(
        self, settings: LlmSettings, *, halt: Halt | None = None, retries: RetryPolicy | None = None
    ) -> None:
        halt = halt or Halt()
        self._settings = settings
        self._retries = retries or RetryPolicy(jitter=_JITTER, sleep=halt.sleep)
        self._pacer = Pacer(
            concurrency=settings.concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            halt=halt,
        )
        self._opened: dict[str, ChatModel] = {}

    def open(self, role: ModelRole | None = None) -> ChatModel | None:
        """Return the model for a role, or None; raises as `open_chat_model`."""
        spec = chat_model_spec(self._settings, role)
        if spec == NO_CHAT_MODEL:
            return None
        if spec not in self._opened:
            client = _open_client(spec, self._settings)
            # Retries outside: a call that waits to be made again holds no turn.
            self._opened[spec] = RetryingChat(PacedChat(client, self._pacer), self._retries)
        return self._opened[spec]


def _open_client(spec: str, settings: LlmSettings) -> ChatModel:
    factory, model = choose_factory(spec, CHAT_MODELS, what="language model")
    return factory(model, settings)


def _open_openai(model: str, settings: LlmSettings) -> ChatModel:
    from knotwork.inference.chat_openai import OpenAIChat
    from knotwork.inference.chat_server import ChatServer

    server = ChatServer(
        settings.base_url, api_key=settings.api_key, timeout_s=settings.timeout_s
    )  # fmt: skip
    return OpenAIChat(
        model,
        server,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
    )


CHAT_MODELS: dict[str, Factory] = {"openai": _open_openai}
