"""Content keys: equal keys mean equal results, so that nothing is asked of a model twice."""

from __future__ import annotations

import json
from hashlib import blake2b

from knotwork.inference.base import Passage
from knotwork.inference.chat import ChatRequest
from knotwork.records import content_id

CALL_KEY_BYTES = 16


def embedding_key(embedder_name: str, passage: Passage) -> str:
    """Return the key of a passage's vectors, the chunk's and its sentences' alike."""
    borders = (border for sentence in passage.sentences for border in sentence)
    return content_id("embedding", embedder_name, passage.context, passage.text, *borders)


def call_key(model_name: str, request: ChatRequest) -> bytes:
    """Return the key of a call: equal for equal content asked of an equal model, and only then.

    What a call is for (its stage and source) is no part of it. 128 bits, as a wrong reply served
    for a collision would never be noticed.
    """
    content = [
        model_name,
        request.max_output_tokens,
        float(request.temperature) + 0.0,  # -0.0 is 0.0
        request.schema,
        list(request.stop),
        [[message.role, message.content] for message in request.messages],
    ]
    # Not as ASCII: escapes would make two halves of a character equal to the character.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=CALL_KEY_BYTES).digest()
