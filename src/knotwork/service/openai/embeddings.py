"""Embeddings by the embedder of a workspace."""

from __future__ import annotations

import base64

from fastapi import APIRouter

from knotwork.errors import ConfigError, RequestTooLarge
from knotwork.service.access import Caller, Server
from knotwork.service.openai.models import lease_model
from knotwork.service.openai.shapes import (
    EmbeddingList,
    EmbeddingRequest,
    EmbeddingShape,
    EmbeddingUsage,
)
from knotwork.service.workspaces import Workspace
from knotwork.text.tokens import count_tokens

router = APIRouter(tags=["openai"])

_MOST_CHARACTERS = 500_000


@router.post("/embeddings")
async def embed_texts(key: Caller, server: Server, asked: EmbeddingRequest) -> EmbeddingList:
    """Return the vectors of texts, as questions have them."""
    with lease_model(server, key, asked.model) as workspace:
        return await server.threads.run(_embed, workspace, asked)


def _embed(workspace: Workspace, asked: EmbeddingRequest) -> EmbeddingList:
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    if sum(map(len, texts)) > _MOST_CHARACTERS:
        raise RequestTooLarge(
            f"The texts have more than {_MOST_CHARACTERS:,} characters together.",
            fix="Send fewer at a time.",
        )
    embedder = workspace.base.embedder
    if embedder is None:
        raise ConfigError(
            "This server has no embedder.", fix="Set embedding.model, or install its extra."
        )
    if asked.dimensions not in (None, embedder.dimension):
        raise ConfigError(
            f"The vectors of `{embedder.name}` have {embedder.dimension} dimensions, and no other "
            "number.",
            fix="Leave out `dimensions`.",
        )
    rows = embedder.embed(texts)
    packed = asked.encoding_format == "base64"
    tokens = sum(map(count_tokens, texts))
    return EmbeddingList(
        data=[
            EmbeddingShape(
                index=index,
                embedding=base64.b64encode(row.astype("<f4").tobytes()).decode()
                if packed
                else [float(value) for value in row],
            )
            for index, row in enumerate(rows)
        ],
        model=embedder.name,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )
