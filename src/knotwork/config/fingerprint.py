"""The fingerprint of all that shapes an index: what the ledger compares."""

from __future__ import annotations

import json
from hashlib import blake2b

from knotwork.config.settings import IndexSettings, setting_fields

_RESULT_VERSION = 4
"""Raise it when equal settings give another result than before, so that files are read again."""


def fingerprint(index: IndexSettings, embedder_identity: str, extractor_name: str) -> str:
    """Return 16 hexadecimal digits that change when indexing a file would give another result.

    What only selects files (globs, sizes) is left out. The names stand for all that shapes their
    results, the extractor's dictionary among it; ``embedder_identity`` is empty without embedder.
    """
    shaping = {
        entry.key: getattr(index, entry.key)
        for entry in setting_fields()
        if entry.section == "index" and entry.rule.shapes_index
    }
    parts = [_RESULT_VERSION, shaping, embedder_identity, extractor_name]
    data = json.dumps(parts, sort_keys=True).encode()
    return blake2b(data, digest_size=8).hexdigest()
