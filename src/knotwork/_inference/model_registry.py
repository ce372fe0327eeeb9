"""Open embedders, chat models, rerankers and answer readers by name.

A name is "SCHEME:MODEL", such as "openai:gpt-4o". The module of a model is imported when the model
is opened. To add a scheme, add a row to the `parts.txt` of an extension. Its target is called with
``model``, the part of the name after the colon, and ``settings``, its section.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from knotwork._config import EmbeddingSettings, LlmSettings, RerankSettings, SettingTable
from knotwork._inference.call_costs import PriceTable
from knotwork._inference.call_limits import (
    LimitedChat,
    RateLimiter,
    RetryPolicy,
    most_calls,
)
from knotwork._inference.chat import ChatModel, ServedChat
from knotwork._inference.cross_encoders import AnswerReader, Reranker
from knotwork._inference.embedder import Embedder
from knotwork._registry import PARTS, Entry, Part, Registry
from knotwork.errors import ConfigError, MissingExtra, UnknownName

NONE = "none"
"""The name that disables a model."""


def open_model(
    spec: str, models: Registry[Part], settings: object, *, others: Sequence[str] = (NONE,)
) -> Part:
    """Return the model that ``spec``, SCHEME:MODEL, names.

    ``others`` are the valid names without a scheme. Raises UnknownName for an unknown scheme,
    ConfigError if the name of the model is missing, and the errors of the model.
    """
    scheme, _, model = spec.partition(":")
    if scheme not in models:
        valid = [*others, *(f"{known}:…" for known in models.names())]
        raise UnknownName(models.kind, spec, valid)
    if not model:
        raise ConfigError(
            f"The {models.kind} `{spec}` has no name after its scheme.",
            fix=f"Write the name of the model after the colon: {scheme}:NAME",
        )
    return models.create(scheme, model=model, settings=settings)


NO_EMBEDDER = NONE
AUTO_EMBEDDER = "auto"
"""Selects the model of an existing index, or the preferred local model for a new one."""


def open_embedder(
    spec: str, settings: EmbeddingSettings | None = None, *, stored: str = ""
) -> Embedder | None:
    """Return the embedder that ``spec`` names, or None for "none"; ignores ``settings.model``.

    ``stored`` is the name of the embedder whose vectors the index holds, if any: "auto" prefers it.
    Cheap: a model is loaded, or a server contacted, on first use. Raises UnknownName for an unknown
    scheme, MissingExtra if a library is not installed, and ConfigError for other faults of the
    name.
    """
    if spec == NO_EMBEDDER:
        return None
    if spec == AUTO_EMBEDDER:
        spec = choose_model(stored)
    settings = settings or EmbeddingSettings()
    return open_model(spec, EMBEDDERS, settings, others=(NONE, AUTO_EMBEDDER))


def choose_model(stored: str = "") -> str:
    """Return the model that "auto" selects for an index with vectors of ``stored``."""
    if follows_index(stored):
        return stored
    model: str = PARTS.load("preferred_embedder")()
    return f"local:{model}"


def follows_index(stored: str) -> bool:
    """Return True if "auto" selects the embedder of an index with vectors of ``stored``.

    It does for a published model, not for that of a folder, which may have moved.
    """
    scheme, _, model = stored.partition(":")
    return scheme == "local" and bool(model) and "@" not in model


def explain_choice(spec: str, stored: str = "") -> str:
    """Return a phrase for users that explains which model `open_embedder` selects."""
    if spec != AUTO_EMBEDDER:
        return "set as embedding.model"
    if follows_index(stored):
        return "auto: the model of the index"
    return f"auto: {PARTS.load('explain_preferred_embedder')()}"


EMBEDDERS: Registry[Embedder] = Registry(
    "embedders",
    (Entry("hashing", "knotwork._inference.embedder:open_hashing"),),
    kind="embedding model",
    protocol=Embedder,
    reserved=(NONE, AUTO_EMBEDDER),
)


NO_CHAT_MODEL = NONE
ModelRole = Literal["extract", "summarize", "keyword", "answer", "judge", "describe"]
MODEL_ROLES: tuple[ModelRole, ...] = get_args(ModelRole)
_RETRY_JITTER = 0.5


def chat_model_spec(settings: LlmSettings, role: ModelRole | None = None) -> str:
    """Return the name of the model for a role: the setting of the role, else ``llm.model``."""
    own = getattr(settings, role) if role else ""
    named = own.get("model", "") if isinstance(own, SettingTable) else own
    return str(named).strip() or settings.model


_SERVER_URLS = {
    "anthropic": "https://api.anthropic.com/v1",
    "ollama": "http://localhost:11434",
}
"""The servers of models whose scheme is not `openai`, unless `base_url` is set."""

_OF_A_SERVER = ("api_key", "extra_headers", "api_version")
"""Settings that a role with a server of its own does not take from the section."""


def role_settings(settings: LlmSettings, role: ModelRole | None = None) -> LlmSettings:
    """Return the settings of the model of a role, those of the section where it has none.

    A key, headers and the version of a server are never sent to another server: a role with a
    server of its own has only its own.
    """
    own = getattr(settings, role) if role else ""
    entries = dict(own) if isinstance(own, SettingTable) else {"model": own}
    model = chat_model_spec(settings, role)
    unset = LlmSettings()
    usual, of_section = (
        _SERVER_URLS.get(name.partition(":")[0], unset.base_url) for name in (model, settings.model)
    )
    section_url = of_section if settings.base_url == unset.base_url else settings.base_url
    # Without a URL of its own, the role uses the section's server if it is of the same kind.
    url = str(entries.setdefault("base_url", section_url if usual == of_section else usual))
    if urlsplit(url)[:2] != urlsplit(section_url)[:2]:  # another scheme, host or port
        entries = {name: getattr(unset, name) for name in _OF_A_SERVER} | entries
    # Without what is no part of a call, so that roles with the same model share it.
    apart: dict[str, Any] = {"model": model, "prices": (), **dict.fromkeys(MODEL_ROLES, "")}
    return replace(settings, **(entries | apart))


def roles_by_model(settings: LlmSettings) -> dict[LlmSettings, list[ModelRole]]:
    """Return the roles that have a model, by the settings of the model."""
    roles: dict[LlmSettings, list[ModelRole]] = {}
    for role in MODEL_ROLES:
        own = role_settings(settings, role)
        if own.model != NO_CHAT_MODEL:
            roles.setdefault(own, []).append(role)
    return roles


def calls_at_once(settings: LlmSettings, role: ModelRole) -> int:
    """Return the most calls of a role that may ever run at a time."""
    return most_calls(role_settings(settings, role).concurrency)


def price_table(settings: LlmSettings) -> PriceTable:
    """Return the prices of all models; those that a role states come first.

    Raises ConfigError for an invalid price.
    """
    lines: list[str] = []
    for role in MODEL_ROLES:
        own = getattr(settings, role)
        lines += own.get("prices", ()) if isinstance(own, SettingTable) else ()
    return PriceTable.read([*lines, *settings.prices])


class ChatModels:
    """The chat models of all roles. Roles with one server and equal limits share a rate limiter.

    ``retries`` defaults to a `RetryPolicy` with jitter. Roles with the same model get the same
    object. Use this object from one thread; the models that it returns are thread-safe.
    """

    def __init__(self, settings: LlmSettings, *, retries: RetryPolicy | None = None) -> None:
        self._settings = settings
        self.retries = retries or RetryPolicy(jitter=_RETRY_JITTER)
        self._limiters: dict[tuple[object, ...], RateLimiter] = {}
        self._opened: dict[LlmSettings, ChatModel] = {}
        self._clients: dict[LlmSettings, ChatModel] = {}

    def open(self, role: ModelRole | None = None) -> ChatModel | None:
        """Return the model for a role, with rate limits and retries; None if it is "none".

        The server is contacted on first use. Raises UnknownName for an unknown scheme, MissingExtra
        if a library is not installed, and ConfigError for other faults of the name.
        """
        settings = role_settings(self._settings, role)
        if settings.model == NO_CHAT_MODEL:
            return None
        if settings not in self._opened:
            opened = self._clients[settings] = open_model(settings.model, CHAT_MODELS, settings)
            limits = settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute
            scheme = settings.model.partition(":")[0]  # a model file has a server of its own
            key = (scheme, settings.base_url.rstrip("/"), *limits)
            if key not in self._limiters:
                self._limiters[key] = RateLimiter(
                    concurrency=settings.concurrency,
                    requests_per_minute=settings.requests_per_minute,
                    tokens_per_minute=settings.tokens_per_minute,
                    timeout_s=settings.timeout_s,
                )
            limiter = self._limiters[key]
            if isinstance(opened, ServedChat):
                opened.listen(limiter.heed)
            self._opened[settings] = LimitedChat(opened, limiter, retries=self.retries)
        return self._opened[settings]

    def client(self, role: ModelRole) -> ChatModel | None:
        """Return the model for a role as it was opened, without rate limits and retries."""
        self.open(role)
        return self._clients.get(role_settings(self._settings, role))


CHAT_MODELS: Registry[ChatModel] = Registry(
    "chat_models",
    (),
    kind="language model",
    protocol=ChatModel,
    reserved=(NO_CHAT_MODEL,),
)


def open_reranker(settings: RerankSettings) -> Reranker | None:
    """Return the reranker that ``settings.model`` names, or None for "none".

    Cheap: a model is loaded, or a server contacted, on first use. Raises UnknownName for an unknown
    scheme, MissingExtra if a library is not installed, and ConfigError for other faults of the
    name.
    """
    if settings.model == NONE:
        return None
    return open_model(settings.model, RERANKERS, settings)


RERANKERS: Registry[Reranker] = Registry(
    "rerankers",
    (),
    kind="reranking model",
    protocol=Reranker,
    reserved=(NONE,),
)


AUTO_READER, NO_READER = "auto", "off"
READERS = (AUTO_READER, NO_READER)


def open_reader(setting: str) -> AnswerReader | None:
    """Return the reader that ``answer.reader`` selects; None for "off" or if none is installed.

    Cheap: the model is loaded on first use. Raises UnknownName for an invalid setting.
    """
    if setting not in READERS:
        raise UnknownName("reader", setting, READERS)
    if setting == NO_READER:
        return None
    try:
        reader: AnswerReader = PARTS.load("local_reader")()
    except (MissingExtra, ConfigError):  # not installed, or no weights for this platform
        return None
    return reader
