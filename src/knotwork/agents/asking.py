"""One question to an agent over a knowledge base, and the answer from what it found."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from knotwork.agents.building import build_agent
from knotwork.agents.loop import DEFAULT_STEPS, DEFAULT_TOKENS
from knotwork.agents.tools import DEFAULT_TOOLS
from knotwork.indexing.embedding import EMBEDDER_META
from knotwork.inference.role_models import RoleModels, calls_path
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Answer, Evidence, Query
from knotwork.retrieval.registry import may_rerank
from knotwork.synthesis.answering import compose_answer


def ask_agent(
    knowledge_base: KnowledgeBase,
    question: str,
    *,
    kind: str = "iterative",
    tools: Sequence[str] = DEFAULT_TOOLS,
    steps: int = DEFAULT_STEPS,
    tokens: int | None = DEFAULT_TOKENS,
    k: int | None = None,
    use_llm: bool = True,
) -> tuple[Answer, Evidence]:
    """Return an answer of cited sentences, and the evidence with the trace of all steps.

    Where a corrective agent abstains, so does the answer. Raises UnknownName, RetrievalError,
    ConfigError when a model is not set rightly.
    """
    store, settings = knowledge_base.store, knowledge_base.settings
    embedder = knowledge_base.embedder if store.meta().get(EMBEDDER_META) else None
    with closing(RoleModels(settings.llm, path=calls_path(store.url))) as models:
        agent = build_agent(
            kind,
            store=store,
            embedder=embedder,
            model=models.open("keyword") if use_llm else None,
            reranker=knowledge_base.reranker if any(map(may_rerank, tools)) else None,
            tools=tools,
            steps=steps,
            tokens=tokens,
        )
        evidence = agent.retrieve(Query(question, settings.retrieval.k if k is None else k))
    answer = compose_answer(evidence, store=store, settings=settings.answer)
    return replace(answer, mode="agent", notes=(*answer.notes, *evidence.notes)), evidence
