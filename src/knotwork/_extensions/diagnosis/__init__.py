"""Diagnose an installation, its settings, its index and its models (`knotwork doctor`)."""

from __future__ import annotations

from collections.abc import Iterator

from knotwork._config import Loaded
from knotwork._extensions.diagnosis.index import check_index
from knotwork._extensions.diagnosis.installation import (
    Check,
    check_components,
    check_disk,
    check_extras,
    check_libraries,
    check_permissions,
    check_plugins,
    check_python,
    check_secrets,
    check_settings,
)
from knotwork._extensions.diagnosis.models import (
    check_chat_models,
    check_embedder,
    check_picture_model,
    check_reader,
)
from knotwork._registry import PARTS

__all__ = ["Check", "diagnose"]


def diagnose(loaded: Loaded, *, full: bool = False) -> Iterator[Check]:
    """Yield the result of each check when it is done. Changes nothing.

    What a check looks for becomes a failed `Check`, never an exception. Loads the embedder, or
    requests one vector from its server, and requests one short reply from each configured model.
    ``full`` reads every page and value of the index and of the files beside it.
    """
    yield check_python()
    yield check_libraries()
    yield check_extras()
    yield from check_plugins()
    yield check_settings(loaded)
    yield check_components(loaded.settings)
    yield PARTS.load("check_text_recognition")()
    yield PARTS.load("check_speech_recognition")(loaded.settings.index)
    yield from check_secrets(loaded)
    yield check_disk(loaded.settings.store)
    yield from check_permissions(loaded.settings.store)
    found = check_index(loaded.settings.store, full=full)
    yield from found.checks
    yield check_embedder(loaded.settings.embedding, index=found)
    yield check_reader(loaded.settings, index=found)
    yield from check_chat_models(loaded.settings.llm)
    yield from check_picture_model(loaded.settings)
