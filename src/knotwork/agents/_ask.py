"""Ask an agent a question about a knowledge base: build it by name, run it, compose the answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypedDict, Unpack

from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.role_models import RoleModels, open_budget
from knotwork._knowledge_base import KnowledgeBase
from knotwork._knowledge_base.searcher import note_nothing_left
from knotwork._retrieval.filters import FilterSpec, read_filter
from knotwork._retrieval.retriever_registry import may_rerank
from knotwork._run import Steps, Verb
from knotwork._stores.base import Store, companions_of
from knotwork._synthesis.extractive_answers import compose_answer, read_hits
from knotwork._text.token_counts import count_tokens
from knotwork.agents._agent import (
    DEFAULT_STEPS,
    DEFAULT_TOKENS,
    DEFAULT_TOOLS,
    Agent,
    AgentTool,
    Planner,
    make_tools,
)
from knotwork.agents._graph_reasoner import GraphReasoner
from knotwork.agents._planners import (
    FOLLOWED,
    MODEL_TASKS,
    CorrectivePlanner,
    IterativePlanner,
    ModelPlanner,
)
from knotwork.errors import UnknownName
from knotwork.records import Answer, Evidence, Query


class AgentOptions(TypedDict, total=False):
    """The options of `ask_agent`."""

    kind: str
    """One of `AGENTS`; by default "iterative"."""
    tools: Sequence[str]
    """The names of the retrievers to use, the main one first; by default `DEFAULT_TOOLS`."""
    steps: int
    """The maximum number of searches; by default 6."""
    tokens: int | None
    """The maximum number of language model tokens; by default 8,000. None is no limit."""
    k: int | None
    """How many passages to find; by default `retrieval.k`."""
    use_llm: bool
    """Whether a language model takes part, if one is set; by default True."""
    budget: str
    """A ceiling on the cost of all models together, as `parse_ceiling` reads it."""
    filters: FilterSpec | None
    """Restricts the search as in `KnowledgeBase.search`."""


@Verb
def ask_agent(
    knowledge_base: KnowledgeBase, question: str, **options: Unpack[AgentOptions]
) -> Steps[tuple[Answer, Evidence]]:
    """Return an answer of cited sentences, and the evidence with the trace of all steps.

    A run yields each `AgentStep`. If a corrective agent abstains, there is no answer. Raises
    UnknownName for an unknown kind, tool or field, RetrievalError, FilterError for an invalid
    filter, ConfigError for invalid settings of a model.
    """
    settings, wanted = knowledge_base.settings, read_filter(options.get("filters"))
    store = knowledge_base.filtered_store(wanted)
    embedder = knowledge_base.embedder if store.meta().get(EMBEDDER_META) else None
    tools = options.get("tools", DEFAULT_TOOLS)
    k = options.get("k")
    budget = open_budget(options.get("budget", ""), settings.llm, count_tokens=count_tokens)
    with closing(RoleModels.of(settings, companions_of(store))) as models:
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
        found = yield from agent.retrieve.run(Query(question, k, wanted))
        evidence = read_hits(found, knowledge_base.reader, most=settings.answer.max_sentences)
        if wanted is not None:
            notes = (*note_nothing_left(store, wanted), *evidence.notes)
            evidence = replace(evidence, notes=notes)
        answer = compose_answer(evidence, store=store, settings=settings.answer)
        return replace(answer, mode="agent"), evidence


AGENTS = {
    "iterative": "asks the rest of the question about each thing found",
    "corrective": "judges the evidence, widens and rewrites, and may abstain",
    "reasoning": "follows relations of the graph that the question names",
    "revising": "checks the steps of a model's draft, and revises it by what it finds",
}
"""The kinds of agents, with what each does."""

REASONING_TOOL = "reasoning"


def build_agent(
    kind: str = "iterative",
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
    tools: Sequence[str] = DEFAULT_TOOLS,
    steps: int = DEFAULT_STEPS,
    tokens: int | None = DEFAULT_TOKENS,
) -> Agent:
    """Build an agent of a kind over these retrievers, the main one first.

    A ``model`` chooses the steps of an iterative or a revising agent; rules replace it when it
    fails or its tokens are used up. Raises UnknownName for an unknown kind, and the errors of
    `make_tools`.
    """
    if kind not in AGENTS:
        raise UnknownName("agent", kind, AGENTS)
    made = make_tools(tools, store=store, embedder=embedder, model=model, reranker=reranker)
    if kind == "reasoning":
        reasoner = GraphReasoner(
            store=store, embedder=embedder, model=model, text=next(iter(made.values())).retriever
        )
        made = {REASONING_TOOL: AgentTool(REASONING_TOOL, AGENTS[kind], reasoner), **made}
    planner: Planner = CorrectivePlanner()
    if kind != "corrective":
        planner = IterativePlanner(store, followed=0 if kind == "reasoning" else FOLLOWED)
    if model is not None and kind in MODEL_TASKS:
        summaries = {name: tool.summary for name, tool in made.items()}
        planner = ModelPlanner(model, planner, summaries, MODEL_TASKS[kind])
    return Agent(planner, made, store, steps=steps, tokens=tokens, name=f"agent:{kind}")
