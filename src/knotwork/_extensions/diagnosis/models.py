"""Check the embedder, the answer reader and the language models by using each once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from difflib import get_close_matches

from knotwork._config import EmbeddingSettings, LlmSettings, Settings
from knotwork._extensions.diagnosis.index import IndexFindings
from knotwork._extensions.diagnosis.installation import Check, failed_check
from knotwork._indexing.changes import Tier
from knotwork._indexing.embedding import REEMBED_COMMAND
from knotwork._indexing.loaders.loader import can_recognise
from knotwork._indexing.prepare import BLINDNESS_FIX
from knotwork._indexing.stages import UNDESCRIBED_DETAIL, UNDESCRIBED_FIX
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    ServedChat,
    is_mostly_thinking,
)
from knotwork._inference.embedder import PassageText, without_prefixes
from knotwork._inference.model_registry import (
    MODEL_ROLES,
    NO_EMBEDDER,
    NO_READER,
    ChatModels,
    ModelRole,
    explain_choice,
    follows_index,
    open_embedder,
    open_reader,
    roles_by_model,
)
from knotwork._registry import PARTS
from knotwork.errors import KnotworkError, ModelError

_PROBE_TEXT = "A short text."


def check_embedder(settings: EmbeddingSettings, *, index: IndexFindings) -> Check:
    """Check that the embedder works and produces vectors of the same kind as the index holds.

    The detail names the model and why it was chosen.
    """
    started = time.perf_counter()
    try:
        embedder = open_embedder(settings.model, settings, stored=index.embedder)
        if embedder is None:
            return _report_missing_embedder(settings, index)
        dimension = int(embedder.embed([_PROBE_TEXT]).shape[1])
    except KnotworkError as error:
        return failed_check("Embedder", error)
    seconds = time.perf_counter() - started
    reason = explain_choice(settings.model, index.embedder)
    detail = (
        f"{embedder.name}, {dimension} dimensions ({reason}), first vector after {seconds:.1f} s"
    )
    if index.embedder and index.embedder != embedder.name:
        detail += f"; but the index was made with {index.embedder}"
    elif index.dimension and index.dimension != dimension:
        detail += f"; but the index holds vectors of {index.dimension}"
    else:
        return Check("Embedder", ok=True, detail=detail)
    fix = (
        f"Set embedding.model to {_fitting_model(index.embedder)}, or embed the index again with "
        f"this model: {REEMBED_COMMAND} --model {without_prefixes(embedder.name)}"
    )
    return Check("Embedder", ok=False, detail=detail, fix=fix)


def check_reader(settings: Settings, *, index: IndexFindings) -> Check:
    """Check that the answer reader works. The detail says whether it is used, and if not, why."""
    started = time.perf_counter()
    try:
        reader = open_reader(settings.answer.reader)
        if reader is None:
            off = settings.answer.reader == NO_READER
            why = "answer.reader is off" if off else "multilingual-e5-small is not installed"
            return Check("Reader", ok=True, detail=f"none: {why}")
        embedder = index.embedder
        if not embedder:
            opened = open_embedder(settings.embedding.model, settings.embedding)
            embedder = opened.name if opened else ""
        if embedder != reader.embedder:
            why = f"the index is embedded with {embedder}" if embedder else "no vectors"
            return Check("Reader", ok=True, detail=f"not used: {why}")
        list(reader.read(_PROBE_TEXT, [PassageText(_PROBE_TEXT)]))
    except KnotworkError as error:
        return failed_check("Reader", error)
    seconds = time.perf_counter() - started
    detail = f"on {reader.embedder}, first passage after {seconds:.1f} s"
    return Check("Reader", ok=True, detail=detail)


def _fitting_model(embedder: str) -> str:
    """Return the value of embedding.model that opens the embedder of an index."""
    if follows_index(embedder):
        return '"auto"'
    name, at, _ = without_prefixes(embedder).partition("@")
    return f"the folder of {name}" if at else f'"{embedder}"'


def _report_missing_embedder(settings: EmbeddingSettings, index: IndexFindings) -> Check:
    """Return the check for a configuration without an embedder, which passes without vectors."""
    if index.embedder:
        return Check(
            "Embedder",
            ok=False,
            detail=f"none, but the index was made with {index.embedder}",
            fix=f"Set embedding.model to {_fitting_model(index.embedder)}.",
        )
    fix = "" if settings.model == NO_EMBEDDER else "For vectors: pip install 'knotwork[local]'"
    return Check("Embedder", ok=True, detail="none: full text and graph only", fix=fix)


_LANGUAGE_MODEL = "Language model"
_PROBE_REQUEST = ChatRequest((Message("user", "Reply with the word yes."),), max_output_tokens=16)
_SHOWN_MODELS = 5
_SHOWN_CHARACTERS = 80
_WRONG_FIX = (
    "Use a larger model that follows instructions, or check the chat template of the server."
)


def check_chat_models(settings: LlmSettings) -> Iterator[Check]:
    """Check that each configured model replies, with one call of at most 16 output tokens each.

    A reply that is cut off while it thinks passes: reasoning models need more tokens than that. Any
    other reply without the word asked for fails.
    """
    roles = roles_by_model(settings)
    if not roles:
        detail = "none: only rules are used, and no tokens are spent"
        yield Check(_LANGUAGE_MODEL, ok=True, detail=detail)
        return
    models = ChatModels(settings, retries=RetryPolicy(attempts=1))
    for its_roles in roles.values():
        shared = len(its_roles) == len(MODEL_ROLES)
        yield _check_model(models, its_roles, use="" if shared else f" for {', '.join(its_roles)}")
    used = {role for its_roles in roles.values() for role in its_roles}
    if unused := [role for role in MODEL_ROLES if role not in used]:
        yield Check(_LANGUAGE_MODEL, ok=True, detail=f"none for {', '.join(unused)}")


def _check_model(models: ChatModels, roles: list[ModelRole], *, use: str) -> Check:
    started = time.perf_counter()
    try:
        model = models.open(roles[0])
        assert model is not None
        reply = model.complete(_PROBE_REQUEST)
    except KnotworkError as error:
        if isinstance(error, ModelError) and error.status == 404:
            return _report_missing_model(error, models.client(roles[0]))
        return failed_check(_LANGUAGE_MODEL, error)
    seconds = time.perf_counter() - started
    detail = f"{model.name}{use}, first reply after {seconds:.1f} s, {reply.usage.tokens} tokens"
    if not _is_right(reply):
        shown = " ".join(reply.text.split())[:_SHOWN_CHARACTERS]
        detail += f"; asked to reply with the word yes, it wrote: {shown or 'nothing'}"
        return Check(_LANGUAGE_MODEL, ok=False, detail=detail, fix=_WRONG_FIX)
    return Check(_LANGUAGE_MODEL, ok=True, detail=detail)


def check_picture_model(settings: Settings) -> Iterator[Check]:
    """Check that the model that describes pictures reads a number in one, if it is to be used.

    The detail says if `llm.tier` has no model read new documents.
    """
    if settings.index.pictures != "model" or not can_recognise():
        return
    name = "Model for pictures"
    try:
        model = ChatModels(settings.llm, retries=RetryPolicy(attempts=1)).open("describe")
        blindness = "No language model is set."
        if model is not None:
            blindness = PARTS.load("find_blindness")(model)
    except KnotworkError as error:
        yield failed_check(name, error)
        return
    if model is None or blindness:
        yield Check(name, ok=False, detail=blindness, fix=BLINDNESS_FIX)
        return
    detail, fix = f"{model.name} reads a number in a picture", ""
    if settings.llm.tier != Tier.FULL:
        detail += f"; but {UNDESCRIBED_DETAIL.format(tier=settings.llm.tier)}"
        fix = UNDESCRIBED_FIX
    yield Check(name, ok=True, detail=detail, fix=fix)


def _is_right(reply: ChatReply) -> bool:
    """Return True for the word asked for, and for a model that was still thinking at its limit."""
    cut_off = reply.finish_reason == "length" and is_mostly_thinking(reply)
    return cut_off or re.search(r"\byes\b", reply.text, re.IGNORECASE) is not None


def _report_missing_model(error: ModelError, client: ChatModel | None) -> Check:
    """Return the failed check, with similar names if the server lists its models."""
    if client is None or not isinstance(client, ServedChat):
        return failed_check(_LANGUAGE_MODEL, error)
    try:
        names = client.listed_models()
    except ModelError:
        return failed_check(_LANGUAGE_MODEL, error)
    scheme, _, wanted = client.name.partition(" ")[0].partition(":")
    if not names or wanted in names:
        return failed_check(_LANGUAGE_MODEL, error)
    near = get_close_matches(wanted, names, n=_SHOWN_MODELS, cutoff=0.3) or sorted(names)
    shown = ", ".join(f"{scheme}:{name}" for name in near[:_SHOWN_MODELS])
    fix = f"Name a model that the server has, such as {shown}."
    return Check(_LANGUAGE_MODEL, ok=False, detail=error.message, fix=fix)
