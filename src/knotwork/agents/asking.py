"""One question to an agent over a knowledge base, and the answer from what it found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from knotwork.agents.building import build_agent
from knotwork.agents.loop import DEFAULT_STEPS, DEFAULT_TOKENS, AgentStep
from knotwork.agents.tools import DEFAULT_TOOLS
from knotwork.indexing.embedding import EMBEDDER_META
from knotwork.inference.model_run import open_budget
from knotwork.inference.role_models import RoleModels, calls_path
from knotwork.knowledge_base import KnowledgeBase
from knotwork.knowledge_base.filtering import note_nothing_left
from knotwork.records import Answer, Evidence, Query
from knotwork.retrieval.filters import FilterSpec, read_filter
from knotwork.retrieval.registry import may_rerank
from knotwork.synthesis.answering import compose_answer
from knotwork.synthesis.reading import read_hits
from knotwork.text.tokens import count_tokens


class AgentOptions(TypedDict, total=False):
    """How an agent works: its ``kind`` ("iterative"), the retrievers it may use as ``tools``, the
    main one first, the most searches (``steps``, 6) and tokens of a language model (``tokens``,
    8,000), passages (``k``), whether a model takes part (``use_llm``, on), a ceiling on what all
    models may cost together (``budget``), as `parse_ceiling` reads it, and ``filters`` as in
    `KnowledgeBase.search`.
    """

    kind: str
    tools: Sequence[str]
    steps: int
    tokens: int | None
    k: int | None
    use_llm: bool
    budget: str
    filters: FilterSpec | None


@dataclass(frozen=True, slots=True)
class AgentReply:
    """A step of an agent, or, as the last of them, its answer with the evidence for it."""

    step: AgentStep | None = None
    answer: Answer | None = None
    evidence: Evidence | None = None


def ask_agent(
    knowledge_base: KnowledgeBase, question: str, **options: Unpack[AgentOptions]
) -> tuple[Answer, Evidence]:
    """Return an answer of cited sentences, and the evidence with the trace of all steps.

    Where a corrective agent abstains, so does the answer. Raises UnknownName, RetrievalError,
    FilterError, ConfigError when a model is not set rightly.
    """
    *_, last = ask_agent_events(knowledge_base, question, **options)
    assert last.answer is not None and last.evidence is not None, "the last one has both"  # noqa: PT018
    return last.answer, last.evidence


def ask_agent_events(
    knowledge_base: KnowledgeBase, question: str, **options: Unpack[AgentOptions]
) -> Iterator[AgentReply]:
    """Do what `ask_agent` does, and yield every step."""
    settings, wanted = knowledge_base.settings, read_filter(options.get("filters"))
    store = knowledge_base.filtered_store(wanted)
    embedder = knowledge_base.embedder if store.meta().get(EMBEDDER_META) else None
    tools = options.get("tools", DEFAULT_TOOLS)
    k = options.get("k")
    budget = open_budget(options.get("budget", ""), settings.llm, count_tokens=count_tokens)
    with closing(RoleModels(settings.llm, path=calls_path(store.url))) as models:
        agent = build_agent(
            options.get("kind", "iterative"),
            store=store,
            embedder=embedder,
            model=models.open("keyword", budget=budget) if options.get("use_llm", True) else None,
            reranker=knowledge_base.reranker if any(map(may_rerank, tools)) else None,
            tools=tools,
            steps=options.get("steps", DEFAULT_STEPS),
            tokens=options.get("tokens", DEFAULT_TOKENS),
        )
        k = settings.retrieval.k if k is None else k
        for event in agent.events(Query(question, k, wanted)):
            if event.evidence is None:
                yield AgentReply(step=event.step)
                continue
            most = settings.answer.max_sentences
            evidence = read_hits(event.evidence, knowledge_base.reader, most=most)
            if wanted is not None:
                notes = (*note_nothing_left(store, wanted), *evidence.notes)
                evidence = replace(evidence, notes=notes)
            answer = compose_answer(evidence, store=store, settings=settings.answer)
            yield AgentReply(answer=replace(answer, mode="agent"), evidence=evidence)
