"""Checks of the language models: that each one that is set answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from difflib import get_close_matches

from knotwork.config import LlmSettings
from knotwork.diagnosis.results import Check, failed
from knotwork.errors import KnotworkError, ModelError
from knotwork.inference import ChatModels, ChatRequest, Message, ModelRole
from knotwork.inference.chat_registry import MODEL_ROLES, NO_CHAT_MODEL, chat_model_spec
from knotwork.inference.chat_server import ChatServer
from knotwork.inference.retries import RetryPolicy

_NAME = "Language model"
_PROBE = ChatRequest((Message("user", "Reply with the word yes."),), max_output_tokens=16)
_SHOWN_MODELS = 5


def check_chat_models(settings: LlmSettings) -> Iterator[Check]:
    """Check that each model that some role has gives a reply; one short call to each, no more.

    A reply that is cut off is one: models that think have no room for more in so few tokens.
    """
    roles: dict[str, list[ModelRole]] = {}
    for role in MODEL_ROLES:
        roles.setdefault(chat_model_spec(settings, role), []).append(role)
    unused = roles.pop(NO_CHAT_MODEL, [])
    if not roles:
        detail = "none: rules alone, and no tokens are spent"
        yield Check(_NAME, ok=True, detail=detail)
        return
    models = ChatModels(settings, retries=RetryPolicy(attempts=1))
    for spec, its_roles in roles.items():
        shared = len(its_roles) == len(MODEL_ROLES)
        yield _check_model(models, settings, spec, () if shared else its_roles)
    if unused:
        yield Check(_NAME, ok=True, detail=f"none for {', '.join(unused)}")


def _check_model(
    models: ChatModels, settings: LlmSettings, spec: str, roles: list[ModelRole] | tuple[()]
) -> Check:
    started = time.perf_counter()
    use = f" for {', '.join(roles)}" if roles else ""
    try:
        model = models.open(roles[0] if roles else None)
        assert model is not None
        reply = model.complete(_PROBE)
    except KnotworkError as error:
        if isinstance(error, ModelError) and error.status == 404:
            return _without_such_model(error, settings, spec)
        return failed(_NAME, error)
    seconds = time.perf_counter() - started
    tokens = reply.usage.input_tokens + reply.usage.output_tokens
    detail = f"{model.name}{use}, first reply after {seconds:.1f} s, {tokens} tokens"
    return Check(_NAME, ok=True, detail=detail)


def _without_such_model(error: ModelError, settings: LlmSettings, spec: str) -> Check:
    """Return the failed check; where the server tells its models, with the nearest of them."""
    server = ChatServer(settings.base_url, api_key=settings.api_key, timeout_s=settings.timeout_s)
    try:
        listed = server.get("/models").get("data")
    except ModelError:
        return failed(_NAME, error)
    names = [str(item["id"]) for item in listed or [] if isinstance(item, dict) and "id" in item]
    wanted = spec.partition(":")[2]
    if not names or wanted in names:
        return failed(_NAME, error)
    near = get_close_matches(wanted, names, n=_SHOWN_MODELS, cutoff=0.3) or sorted(names)
    shown = ", ".join(f"openai:{name}" for name in near[:_SHOWN_MODELS])
    fix = f"Name a model that the server has, such as {shown}."
    return Check(_NAME, ok=False, detail=error.message, fix=fix)
