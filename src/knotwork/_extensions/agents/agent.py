"""Agents: plan, search, judge, until the evidence suffices or the budget is spent.

The kinds of agents are policies of one loop: each chooses the next search from what was found. The
findings of all steps are merged into one ranking, and every step is recorded in the trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from knotwork._extensions.agents.graph_reasoner import GraphReasoner
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._inference.call_costs import UsageMeter, count_request
from knotwork._inference.chat import ChatModel, ChatReply, complete_checked
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import price_table
from knotwork._inference.prompt_material import escape_tags
from knotwork._inference.role_models import open_budget
from knotwork._knowledge_base import KnowledgeBase
from knotwork._retrieval.base import Retriever
from knotwork._retrieval.evidence_builder import SHOWN_SENTENCES
from knotwork._retrieval.filters import FilterSpec, read_filter
from knotwork._retrieval.fusion import raise_scores
from knotwork._retrieval.question import Question, rarity, read_question, request_about
from knotwork._retrieval.retriever_registry import RETRIEVERS, build_retriever, may_rerank
from knotwork._run import Progress, Stage, Steps, Verb
from knotwork._stores.base import Store
from knotwork._synthesis.answer_writer import AnswerWriter
from knotwork._synthesis.ask_request import note_nothing_left
from knotwork._synthesis.extractive_answers import compose_answer, read_hits
from knotwork._text.terms import content_terms, terms
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelError, RetrievalError, UnknownName, Unparsable
from knotwork.records import Answer, Entity, Evidence, GraphPath, Hit, Mention, Query, QueryResult

DEFAULT_STEPS = 6
DEFAULT_TOKENS = 8_000
DEFAULT_TOOLS = ("graph", "hybrid", "bm25")
"""The default tools of an agent; the first one is tried first."""

AGENTS = {
    "iterative": "asks the rest of the question about each thing found",
    "corrective": "judges the evidence, widens and rewrites, and may abstain",
    "reasoning": "follows relations of the graph that the question names",
    "revising": "checks the steps of a model's draft, and revises it by what it finds",
}
"""The kinds of agents, with what each does."""
REASONING_TOOL = "reasoning"


class AgentOptions(TypedDict, total=False):
    """The options of `ask_agent`."""

    kind: str
    """One of `AGENTS`; by default "iterative"."""
    tools: Sequence[str]
    """The names of the retrievers to use, the main one first; by default `DEFAULT_TOOLS`."""
    steps: int
    """The maximum number of searches; by default 6."""
    tokens: int | None
    """The maximum number of tokens for choosing steps; by default 8,000. None is no limit."""
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
    """Return an answer with citations, and the evidence with the trace of all steps.

    A run yields each `AgentStep`. The model writes the answer, if one is set; else it consists of
    sentences of the documents. If a corrective agent abstains, there is no answer. Raises
    UnknownName for an unknown kind, tool or field, RetrievalError, FilterError for an invalid
    filter, ConfigError for invalid settings of a model.
    """
    settings, wanted = knowledge_base.settings, read_filter(options.get("filters"))
    store = knowledge_base.filtered_store(wanted)
    embedder = knowledge_base.embedder if store.meta().get(EMBEDDER_META) else None
    tools = options.get("tools", DEFAULT_TOOLS)
    k = options.get("k")
    budget = open_budget(options.get("budget", ""), settings.llm, count_tokens=count_tokens)
    use_llm = options.get("use_llm", True)
    with closing(knowledge_base.open_chat_models()) as models:
        open_role = partial(models.open, meter=UsageMeter(), budget=budget)
        agent = build_agent(
            options.get("kind", "iterative"),
            store=store,
            embedder=embedder,
            model=open_role("keyword") if use_llm else None,
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
        writing = open_role("answer") if use_llm else None
        if writing is None or STILL_POOR in evidence.notes:
            answer = compose_answer(evidence, store=store, settings=settings.answer)
        else:
            writer = AnswerWriter(
                writing,
                store=store,
                settings=settings.answer,
                prices=price_table(settings.llm),
                notes=models.notes,
            )
            *_, last = writer.write(evidence)
            answer = last.value
        return replace(answer, mode="agent"), evidence


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
        text = next(iter(made.values()))
        reasoner = GraphReasoner(store=store, embedder=embedder, model=model, text=text)
        made = {REASONING_TOOL: reasoner, **made}
    plan: Planner = correct
    if kind != "corrective":
        plan = partial(iterate, store, followed=0 if kind == "reasoning" else FOLLOWED)
    if model is not None and kind in MODEL_TASKS:
        plan = partial(ask_for_step, model, MODEL_TASKS[kind], plan)
    return Agent(plan, made, store, steps=steps, tokens=tokens, name=f"agent:{kind}")


def make_tools(
    names: Sequence[str],
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
) -> dict[str, Retriever]:
    """Return the retriever of each name, in the given order.

    Raises RetrievalError without a name, and the errors of `build_retriever`.
    """
    if not names:
        raise RetrievalError("An agent needs at least one tool.")
    parts = {"store": store, "embedder": embedder, "model": model, "reranker": reranker}
    return {name: build_retriever(name, **parts) for name in names}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One search of an agent: the tool, the text searched for, the reason, and the result.

    ``passages`` is how many were found, ``lines`` are the trace of the step, and ``tokens`` those
    of a language model that all steps so far have used.
    """

    number: int
    tool: str
    question: str
    reason: str
    passages: int
    lines: tuple[str, ...]
    tokens: int


class AgentMove(NamedTuple):
    """The next search: a tool, a text, and the ``reason`` that the trace records.

    ``weight`` scales the scores of the findings relative to those of the question itself. ``k`` is
    the number of passages (0: that of the question).
    """

    tool: str
    text: str
    reason: str
    weight: float = 1.0
    k: int = 0


class StepFinding(NamedTuple):
    """The evidence of one step; ``weight`` in [0, 1] scales its scores relative to the first."""

    tool: str
    text: str
    evidence: Evidence
    weight: float = 1.0


@dataclass(slots=True)
class AgentState:
    """The state of an agent at work; ``main`` is the evidence for the question itself.

    ``steps`` and ``tokens`` are its limits; None is no limit. ``unusable`` is how many replies of
    the planner's model in a row could not be used, and ``draft`` the steps that it expects to lead
    to the answer.
    """

    question: str
    k: int
    tools: tuple[str, ...]
    steps: int
    tokens: int | None = None
    spent_tokens: int = 0
    findings: list[StepFinding] = field(default_factory=list)
    main: Evidence | None = None
    judgement: EvidenceJudgement | None = None
    trace: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    abstains: bool = False
    unusable: int = 0
    draft: tuple[str, ...] = ()

    def has_searched(self, tool: str, text: str) -> bool:
        """Return True if this tool was asked for the same words before."""
        wanted = terms(text)
        return any(f.tool == tool and terms(f.text) == wanted for f in self.findings)


Planner = Callable[[AgentState], AgentMove | None]
"""Returns the search after that for the question itself, or None if no further one is needed.

It may add to the trace and the notes of the state."""


class Agent:
    """A retriever that searches in steps which its planner chooses.

    The first search is for the question itself, by the main tool. The evidence records every step
    in ``trace``. ``steps`` is the maximum number of searches for a question, ``tokens`` the maximum
    number of language model tokens (None: no limit). Raises RetrievalError without tools.
    """

    def __init__(
        self,
        plan: Planner,
        tools: Mapping[str, Retriever],
        store: Store,
        *,
        steps: int = DEFAULT_STEPS,
        tokens: int | None = DEFAULT_TOKENS,
        name: str = "agent",
    ) -> None:
        if not tools:
            raise RetrievalError("An agent needs at least one tool.")
        self.name = name
        self._plan = plan
        self._tools = dict(tools)
        self._store = store
        self._steps = steps
        self._tokens = tokens

    @Verb
    def retrieve(self, query: Query) -> Steps[Evidence]:
        """Return the merged findings of all steps, with their trace.

        A run yields each `AgentStep`. Raises RetrievalError if the planner chooses an unknown tool.
        """
        state = AgentState(
            query.text, query.k, tuple(self._tools), max(self._steps, 1), self._tokens
        )
        first = AgentMove(state.tools[0], query.text, "the question itself")
        evidence = state.main = main = self._search(first, state)
        move: AgentMove | None = first
        traced = 0
        state.judgement = judge_evidence(main, self._store)
        state.trace.append(f"   {state.judgement.text}")
        while move is not None:
            step = AgentStep(
                number=len(state.findings),
                tool=move.tool,
                question=move.text,
                reason=move.reason,
                passages=len(evidence.hits),
                lines=tuple(line.strip() for line in state.trace[traced:]),
                tokens=state.spent_tokens,
            )
            yield Progress(Stage.STEP, step.number, self._steps, note=step.tool, value=step)
            traced = len(state.trace)
            move = self._plan(state) if len(state.findings) < state.steps else None
            evidence = self._search(move, state) if move is not None else evidence
        return self._conclude(query, main, state)

    def _search(self, move: AgentMove, state: AgentState) -> Evidence:
        if move.tool not in self._tools:
            known = ", ".join(sorted(self._tools))
            raise RetrievalError(
                f"The planner chose the unknown tool `{move.tool}`; the tools are {known}."
            )
        evidence = self._tools[move.tool].retrieve(Query(move.text, move.k or state.k))
        state.findings.append(StepFinding(move.tool, move.text, evidence, move.weight))
        first = evidence.hits[0].chunk if evidence.hits else None
        title = f", first {first.document_title or first.id}" if first else ""
        state.trace.append(f"{len(state.findings)}. {move.tool}: {move.text} ({move.reason})")
        state.trace.append(f"   {len(evidence.hits)} passages{title}")
        state.trace += [f"   {line}" for line in evidence.trace]
        return evidence

    def _conclude(self, query: Query, main: Evidence, state: AgentState) -> Evidence:
        hits = merge_findings(state.findings, question_evidence=main, k=query.k)
        paths: list[GraphPath] = []
        results: list[QueryResult] = []
        for finding in state.findings:
            paths += [path for path in finding.evidence.paths if path not in paths]
            results += finding.evidence.results
        if state.abstains:
            state.trace.append("Abstains: the evidence is poor.")
        spent = f" and {state.spent_tokens} tokens" if state.spent_tokens else ""
        state.trace.append(f"Took {len(state.findings)} searches{spent}.")
        return Evidence(
            query,
            self.name,
            hits,
            main.confidence,
            notes=tuple(dict.fromkeys((*main.notes, *state.notes))),
            paths=tuple(paths),
            results=tuple(results),
            trace=tuple(state.trace),
            embedder=main.embedder,
        )


def merge_findings(
    findings: Sequence[StepFinding], *, question_evidence: Evidence, k: int
) -> tuple[Hit, ...]:
    """Return the ``k`` best hits of all steps.

    The best score of each step is scaled to that of ``question_evidence``, times the weight of the
    step. A passage found by several steps keeps its highest score, and ``scores`` has a part for
    each step that raised it.
    """
    top = max((hit.score for hit in question_evidence.hits), default=0.0) or 1.0
    best: dict[str, Hit] = {hit.chunk.id: hit for hit in question_evidence.hits}
    for number, finding in enumerate(findings, start=1):
        if finding.evidence is question_evidence:
            continue
        own = max((hit.score for hit in finding.evidence.hits), default=0.0)
        scale = finding.weight * top / own if own > 0 else 0.0
        scored = ((hit, hit.score * scale) for hit in finding.evidence.hits)
        raise_scores(best, scored, part=f"step {number}")
    return tuple(sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk.id))[:k])


JUDGED_HITS = 5
GOOD_CONFIDENCE = 0.8
POOR_CONFIDENCE = 0.3
GOOD_COVERAGE = 0.9


class EvidenceVerdict(StrEnum):
    """What to do with evidence: use it, look further, or look elsewhere."""

    GOOD = "good"
    UNSURE = "unsure"
    POOR = "poor"


@dataclass(frozen=True, slots=True)
class EvidenceJudgement:
    """How well evidence answers its question.

    ``coverage`` is the share of the question's term weights that the best hits contain together,
    ``missing`` are the terms that none of them contains. ``verdict`` follows from the coverage and
    the confidence of the retriever.
    """

    verdict: EvidenceVerdict
    confidence: float
    coverage: float
    missing: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The judgement as a line of a trace."""
        text = f"{self.verdict}: confidence {self.confidence:.2f}, covers {self.coverage:.0%}"
        return f"{text}, nothing on {', '.join(self.missing[:5])}" if self.missing else text


def judge_evidence(evidence: Evidence, store: Store) -> EvidenceJudgement:
    """Judge evidence by its first `JUDGED_HITS` hits and the confidence of its retriever."""
    question = read_question(evidence.query.text, store=store, link=False)
    found: set[str] = set()
    for hit in evidence.hits[:JUDGED_HITS]:
        found.update(terms(hit.chunk.context), terms(hit.chunk.text))
    mask = np.array([term in found for term in question.terms], dtype=np.bool_)
    coverage = float(question.weights[mask].sum()) if len(mask) else 0.0
    missing = tuple(term for term in question.terms if term not in found)
    confidence = evidence.confidence
    if not evidence.hits or confidence < POOR_CONFIDENCE:
        verdict = EvidenceVerdict.POOR
    elif confidence >= GOOD_CONFIDENCE and coverage >= GOOD_COVERAGE:
        verdict = EvidenceVerdict.GOOD
    else:
        verdict = EvidenceVerdict.UNSURE
    return EvidenceJudgement(verdict, confidence, coverage, missing)


FOLLOWED = 4
FOLLOW_WEIGHT = 0.7
"""Weight of what a follow-up question finds, chosen on MuSiQue.

See benchmarks/results/agents-and-follow-ups.md.
"""

PART_WEIGHT = 0.7


def iterate(store: Store, state: AgentState, *, followed: int = FOLLOWED) -> AgentMove | None:
    """Ask for the uncovered part of the question about each of the likeliest entities found.

    A comparison is first asked about each of its two sides. The main tool searches.
    """
    assert state.main is not None, "the question itself is asked first"
    tool, asked = state.tools[0], {finding.text for finding in state.findings}
    for part in split_comparison(state.question):
        if part not in asked:
            return AgentMove(tool, part, "one side of the comparison", PART_WEIGHT)
    found = (hit.chunk for finding in state.findings for hit in finding.evidence.hits)
    titles = {chunk.id: chunk.document_title for chunk in found}
    for follow in follow_up(state.main, store, most=followed):
        if follow.text not in asked:
            source = titles.get(follow.chunk_id) or follow.chunk_id
            reason = f"follows from {source}: worth {follow.worth:.2f}"
            return AgentMove(tool, follow.text, reason, FOLLOW_WEIGHT)
    return None


WIDENED = 3
"""How many times as many passages are searched for if evidence is poor."""

REWRITE_WEIGHT = 0.3
STILL_POOR = "The evidence is still poor after searching in other ways."
"""The note of a corrective agent that abstains."""

OTHER_TOOL = "hybrid"
"""What a corrective agent searches with next, if it is among its tools."""


def correct(state: AgentState) -> AgentMove | None:
    """Widen and rewrite the search if the evidence is unsure or poor; it may abstain.

    After Yan et al., "Corrective Retrieval Augmented Generation" (2024), with the judge replaced
    by confidence and coverage, so that it costs no tokens. It abstains if the last judgement is
    still poor: the evidence keeps the confidence of the question itself, and has a note. Rewriting
    only adds passages: it never raises the confidence of a poor question.
    """
    tool, judged = state.tools[0], state.judgement
    if judged is None or judged.verdict is EvidenceVerdict.GOOD:
        return None
    done = len(state.findings)
    other = OTHER_TOOL if OTHER_TOOL in state.tools else state.tools[-1]
    if done == 1 and other != tool:
        reason = f"{judged.verdict}: another retriever, more passages"
        return AgentMove(other, state.question, reason, REWRITE_WEIGHT, k=WIDENED * state.k)
    rewritten = keep_names(state.question, judged.missing)
    asked = {finding.text for finding in state.findings}
    if rewritten and rewritten not in asked and done <= 2:
        reason = f"{judged.verdict}: only names and rare words"
        return AgentMove(tool, rewritten, reason, REWRITE_WEIGHT)
    if judged.verdict is EvidenceVerdict.POOR:
        state.abstains = True
        state.notes.append(STILL_POOR)
    return None


STEP_WEIGHT = 0.8
MOST_UNUSABLE = 2
"""Unusable replies in a row, after which rules choose all further steps for a question."""
NO_LONGER_ASKED = "The model was not asked again, since its replies were unusable."
MOST_STEPS = 4
_LONGEST_STEP = 400
SHOWN_HITS = 4
SHOWN_CHARACTERS = 240
_SEARCH_LINE = re.compile(
    r"^[^\w\n]*+search\s*[|｜]\s*([\w+-]+)\s*[|｜]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE
)
_STEP_LINE = re.compile(r"^[^\w\n]*+step\s*\d*\s*[|｜:：]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_DONE = re.compile(
    r"^[^\w\n]*+(?:finish|done|none|完成|结束)[^\w\n]*+$", re.IGNORECASE | re.MULTILINE
)


class ModelTask(NamedTuple):
    """What a model is asked before each further search; ``name`` is that of its prompt and stage.

    ``read`` returns the search of a reply, None if the model is done, or raises Unparsable.
    """

    name: str
    output_tokens: int
    read: Callable[[ChatReply, AgentState], AgentMove | None]


def ask_for_step(
    model: ChatModel, task: ModelTask, rules: Planner, state: AgentState
) -> AgentMove | None:
    """Let a model choose a search from what was found so far, as its task says.

    The first search is for the question itself, so that nothing depends on the model's memory. If
    the model fails, its reply is unusable or the token budget is used up, ``rules`` choose the next
    search, and a note explains why.
    """

    def fall_back(note: str) -> AgentMove | None:
        state.notes += [note] if note not in state.notes else []
        return rules(state)

    shown = (
        f"{name} - {RETRIEVERS.describe(name).summary if name in RETRIEVERS else name}"
        for name in state.tools
    )
    request = request_about(
        state.question,
        "knotwork._extensions.agents",
        task.name,
        model,
        stage=task.name,
        output_tokens=task.output_tokens,
        question=escape_tags(state.question.strip()),
        tools="\n".join(shown),
        draft=escape_tags("\n".join(state.draft)),
        found=escape_tags(show_findings(state)),
        left=str(state.steps - len(state.findings)),
    )
    asked = count_request(request, count_tokens)
    if state.tokens is not None and state.spent_tokens + asked + task.output_tokens > state.tokens:
        return fall_back("The token budget is used up: rules chose the next step.")
    if state.unusable >= MOST_UNUSABLE:
        return rules(state)
    try:
        text, move = complete_checked(
            model, request, lambda reply: (reply.text, task.read(reply, state))
        )
    except ModelError as error:
        state.unusable += 1
        state.notes += [NO_LONGER_ASKED] if state.unusable >= MOST_UNUSABLE else []
        return fall_back(f"The model chose no step: {error}")
    state.unusable = 0
    state.spent_tokens += asked + count_tokens(text)
    return move


def parse_move(reply: ChatReply, state: AgentState) -> AgentMove | None:
    """Parse the next search of a reply; None if the model is done. Raises Unparsable."""
    found = _SEARCH_LINE.search(reply.text)
    if found is None:
        if _DONE.search(reply.text):
            return None
        raise Unparsable("The reply names neither a search nor the end.")
    tool = found[1].lower()
    if tool not in state.tools:
        raise Unparsable(f"Unknown tool `{found[1]}`. The tools are {', '.join(state.tools)}.")
    text = found[2].strip().strip("\"'“”")
    if state.has_searched(tool, text):
        raise Unparsable("The reply asks for a search that was made before.")
    return AgentMove(tool, text, "chosen by the model", STEP_WEIGHT)


def read_draft(reply: ChatReply, state: AgentState) -> AgentMove | None:
    """Return a search for the first step of a draft that is not checked yet; None if it is done.

    After Wang et al., "RAT: Retrieval Augmented Thoughts" (2024): a draft of the reasoning is a
    better query than the question, and each search corrects what is still to be checked. Here the
    draft is nothing but queries: answers cite passages, so no statement of a draft gets into one by
    itself.
    """
    found = (line[1].strip().strip("\"'“”") for line in _STEP_LINE.finditer(reply.text))
    steps = tuple(dict.fromkeys(step[:_LONGEST_STEP] for step in found if step))[:MOST_STEPS]
    if not steps:
        if _DONE.search(reply.text):
            return None
        raise Unparsable("The reply has neither a step nor the end.")
    tool = state.tools[0]
    following = next((step for step in steps if not state.has_searched(tool, step)), "")
    if not following:
        raise Unparsable("The reply has only steps that were checked before.")
    state.draft = steps
    reason = f"step 1 of {len(steps)} of the draft" if len(steps) > 1 else "the drafted step"
    return AgentMove(tool, following, reason, STEP_WEIGHT)


MODEL_TASKS = {
    "iterative": ModelTask("plan", 120, parse_move),
    "revising": ModelTask("draft", 240, read_draft),
}
"""The tasks of the model by the kind of agent."""


def show_findings(state: AgentState) -> str:
    """Return what each search found, for a prompt; a passage is shown once."""
    shown: set[str] = set()
    lines: list[str] = []
    for finding in state.findings:
        evidence = finding.evidence
        new = [hit for hit in evidence.hits if hit.chunk.id not in shown][:SHOWN_HITS]
        shown.update(hit.chunk.id for hit in new)
        lines.append(f"# {finding.text}")
        for hit in new:
            best = " ".join(hit.chunk.text_at(span) for span, _ in hit.sentences[:2])
            text = " ".join((best or hit.chunk.text).split())[:SHOWN_CHARACTERS]
            lines.append(f"{hit.chunk.document_title}: {text}")
        lines += [f"rows: {[list(row) for row in result.rows[:5]]}" for result in evidence.results]
        if not new and not evidence.results:
            lines.append("nothing new" if evidence.hits else "nothing")
    return "\n".join(lines)


FOLLOWED_HITS = 3
_WORD_OR_SIGN = re.compile(r"\w+(?:['’]\w+)?|\S", re.UNICODE)


class FollowUp(NamedTuple):
    """A follow-up: the part of a question not yet covered, about an entity that a passage names.

    ``worth`` in [0, 1] is how relevant the passage and its sentence are to the question.
    """

    text: str
    entity: str
    chunk_id: str
    worth: float


def follow_up(evidence: Evidence, store: Store, *, most: int = 2) -> list[FollowUp]:
    """Return the likeliest follow-ups, one for each of the ``most`` likeliest entities.

    An entity is ranked by the score of the passage that names it, the relevance of the sentence
    that does so, and its rarity. Entities named in the question or in the title of a passage are
    left out.
    """
    question = read_question(evidence.query.text, store=store)
    hits = evidence.hits[:FOLLOWED_HITS]
    mentions = store.graph.mentions([hit.chunk.id for hit in hits])
    entities = store.graph.entities({m.entity_id for found in mentions.values() for m in found})
    best: dict[str, FollowUp] = {}
    for entity, hit, sentence, worth in _named_beside(hits, mentions, entities, question):
        if entity.id in question.named or not any(map(str.isalpha, entity.name)):
            continue
        if entity.id in best and best[entity.id].worth >= worth:
            continue
        if text := _rest_about(question, entity.name, sentence):
            best[entity.id] = FollowUp(text, entity.id, hit.chunk.id, worth)
    kept: list[FollowUp] = []
    forms: list[str] = []
    for candidate in sorted(best.values(), key=lambda f: (-f.worth, f.entity)):
        form = entities[candidate.entity].normal_form
        if len(kept) < most and not any(form in other or other in form for other in forms):
            kept.append(candidate)
            forms.append(form)
    return kept


def _named_beside(
    hits: Sequence[Hit],
    mentions: Mapping[str, Sequence[Mention]],
    entities: Mapping[str, Entity],
    question: Question,
) -> Iterator[tuple[Entity, Hit, str, float]]:
    """Yield the entities that relevant sentences name, each with its hit, sentence and worth."""
    top = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        share = hit.score / top if top > 0 else 0.0
        for span, relevance in hit.sentences[:SHOWN_SENTENCES]:
            sentence = hit.chunk.text_at(span)
            for mention in mentions.get(hit.chunk.id, ()):
                entity = entities.get(mention.entity_id)
                inside = any(map(span.contains, mention.spans))
                if inside and entity is not None and mention.about < 1.0:
                    rare = rarity(entity.chunk_count, question.chunk_count) ** (1 / 3)
                    yield entity, hit, sentence, max(share * relevance * rare, 0.0)


def _rest_about(question: Question, name: str, sentence: str) -> str:
    """Return the words of a question that a sentence does not contain, followed by a name.

    Empty if nothing of the question is left to ask.
    """
    known = set(terms(sentence))
    kept, is_left = [], False
    for match in _WORD_OR_SIGN.finditer(question.text):
        found = content_terms(match[0])
        if not found or not known.issuperset(found):
            is_left |= not set(question.terms).isdisjoint(found)
            kept.append(match[0])
    return f"{' '.join(kept)} {name}" if is_left else ""


_NAME = r"(?:[A-Z0-9][\w'’.&-]*(?:\s+(?:(?:of|the|and|de|van|von|for|in)\s+)*[A-Z0-9][\w'’.&-]*)*)"
_SIDES = re.compile(
    rf"(?P<first>{_NAME})\s*,?\s+(?:or|and|than|vs\.?|versus)\s+(?P<second>{_NAME})"
)
_COMPARES = re.compile(
    r"\b(?:both|same|different|more|less|older|younger|earlier|later|first|longer|larger|bigger"
    r"|taller|higher|compare[sd]?|difference|which (?:of|one)|between|who (?:was|is|died)|or)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_FEWEST_WORDS = 2


def split_comparison(question: str) -> tuple[str, ...]:
    """Return the question about each of the two names it compares; empty if it compares none."""
    match = _SIDES.search(question[1:])
    if match is None or not _COMPARES.search(question):
        return ()
    start, end = match.start() + 1, match.end() + 1
    sides = (match["first"], match["second"])
    return tuple(" ".join(f"{question[:start]}{side}{question[end:]}".split()) for side in sides)


def keep_names(question: str, missing: Collection[str]) -> str:
    """Return the content words of a question that are not ``missing`` from the evidence.

    Empty if fewer than two words are left.
    """
    words = (match[0] for match in _WORD.finditer(question))
    kept = [word for word in words if (t := content_terms(word)) and not set(missing).issuperset(t)]
    return " ".join(kept) if len(kept) >= _FEWEST_WORDS else ""
