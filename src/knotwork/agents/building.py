"""Agents by name, made over an index."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.agents.loop import DEFAULT_STEPS, DEFAULT_TOKENS, Agent
from knotwork.agents.model_planning import ModelPlanner
from knotwork.agents.planning import CorrectivePlanner, IterativePlanner
from knotwork.agents.reasoning import GraphReasoner
from knotwork.agents.state import Planner
from knotwork.agents.tools import DEFAULT_TOOLS, Tool, make_tools
from knotwork.errors import UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.inference.reranking import Reranker
from knotwork.stores.base import Store

AGENTS = {
    "iterative": "asks the rest of the question about each thing found",
    "corrective": "judges the evidence, widens and rewrites, and may abstain",
    "reasoning": "follows relations of the graph that the question names",
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
    """Return an agent of this kind with tools made from these retrievers, the main one first.

    With a model, it chooses the steps of an iterative agent, and the rules of the kind go on where
    it fails or its tokens are spent. Raises UnknownName, and as `make_tools`.
    """
    if kind not in AGENTS:
        raise UnknownName("agent", kind, AGENTS)
    made = make_tools(tools, store=store, embedder=embedder, model=model, reranker=reranker)
    if kind == "reasoning":
        reasoner = GraphReasoner(
            store=store, embedder=embedder, model=model, text=next(iter(made.values())).retriever
        )
        made = {REASONING_TOOL: Tool(REASONING_TOOL, AGENTS[kind], reasoner), **made}
    planner: Planner
    if kind == "corrective":
        planner = CorrectivePlanner(store)
    else:
        planner = IterativePlanner(store, followed=0 if kind == "reasoning" else 4)
        if model is not None and kind == "iterative":
            planner = ModelPlanner(model, planner, {n: tool.summary for n, tool in made.items()})
    return Agent(planner, made, store, steps=steps, tokens=tokens, name=f"agent:{kind}")
