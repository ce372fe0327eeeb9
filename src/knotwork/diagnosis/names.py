"""Checks of the settings: where they come from, whether they name what there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from knotwork.config import Loaded, SecretRef, Settings
from knotwork.diagnosis.results import Check, failed
from knotwork.errors import KnotworkError, UnknownName
from knotwork.graph.communities import COMMUNITY_ALGORITHMS
from knotwork.indexing.splitters.registry import make_splitter
from knotwork.retrieval.registry import retriever_names
from knotwork.transform.registry import make_extractor


def check_settings(loaded: Loaded) -> Check:
    """Tell which settings are not at their default, and where they come from."""
    changed = [
        f"{name} = {value} ({origin})"
        for name, value, origin in loaded.rows()
        if origin != "default"
    ]
    source = f"file {loaded.file}" if loaded.file else "no settings file"
    return Check("Settings", ok=True, detail="; ".join([source, *(changed or ["all defaults"])]))


def check_names(settings: Settings) -> Check:
    """Check that splitter, extractor, its dictionary, retriever and algorithm are there."""
    index = settings.index
    retriever = settings.retrieval.retriever
    dictionary = Path(index.dictionary) if index.dictionary else None
    try:
        splitter = make_splitter(
            index.splitter,
            chunk_tokens=index.chunk_tokens,
            overlap_tokens=index.overlap_tokens,
            parent_tokens=index.parent_tokens,
        )
        extractor = make_extractor(index.extractor, dictionary=dictionary)
        if retriever not in retriever_names():
            raise UnknownName("retriever", retriever, retriever_names())
        algorithm = settings.communities.algorithm
        if algorithm not in COMMUNITY_ALGORITHMS:
            raise UnknownName("community algorithm", algorithm, COMMUNITY_ALGORITHMS)
    except KnotworkError as error:
        return failed("Parts", error)
    detail = f"splitter {splitter.name}, extractor {extractor.name}, retriever {retriever}"
    return Check("Parts", ok=True, detail=detail)


def check_secrets(loaded: Loaded) -> Iterator[Check]:
    """Check that the variables that hold secrets are set; the secrets are not looked at."""
    settings = loaded.settings
    secrets = [("embedding", settings.embedding.api_key), ("llm", settings.llm.api_key)]
    for section, secret in secrets:
        if not isinstance(secret, SecretRef):
            continue
        ok = secret.is_set()
        detail = f"{section}.api_key is in `{secret.env}`, which is {'set' if ok else 'not set'}"
        yield Check("Secrets", ok, detail, "" if ok else f"Set it: export {secret.env}=…")
