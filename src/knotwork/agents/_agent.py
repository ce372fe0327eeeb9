"""The agent loop: plan, search, judge, until the evidence suffices or the budget is spent.

The findings of all steps are merged into one ranking, and every step is recorded in the trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol, TypedDict, Unpack

import numpy as np

from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._inference.call_costs import count_request
from knotwork._inference.chat import ChatModel, ChatReply, complete_checked
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.prompt_material import escape_tags
from knotwork._inference.role_models import RoleModels, open_budget
from knotwork._knowledge_base import KnowledgeBase
from knotwork._knowledge_base.searcher import note_nothing_left
from knotwork._retrieval.base import Retriever
from knotwork._retrieval.chunk_features import SHOWN_SENTENCES
from knotwork._retrieval.filters import FilterSpec, read_filter
from knotwork._retrieval.fusion import raise_scores
from knotwork._retrieval.question import Question, rarity, read_question
from knotwork._retrieval.question_prompts import request_about
from knotwork._retrieval.retriever_builder import build_retriever
from knotwork._retrieval.retriever_registry import RETRIEVERS, may_rerank
from knotwork._stores.base import Store, companions_of
from knotwork._synthesis.extractive_answers import compose_answer, read_hits
from knotwork._text.terms import content_terms, terms
from knotwork._text.token_counts import count_tokens
from knotwork.agents._graph_reasoner import GraphReasoner
from knotwork.errors import ModelError, RetrievalError, UnknownName, Unparsable
from knotwork.records import Answer, Entity, Evidence, GraphPath, Hit, Mention, Query, QueryResult

DEFAULT_STEPS = 6
DEFAULT_TOKENS = 8_000


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


@dataclass(frozen=True, slots=True)
class AgentReply:
    """A step of an agent; the last reply has the evidence instead, and an answer if one is made."""

    step: AgentStep | None = None
    answer: Answer | None = None
    evidence: Evidence | None = None


class Agent:
    """A retriever that searches in steps which its planner chooses.

    The evidence records every step in ``trace``. ``steps`` is the maximum number of searches for a
    question, ``tokens`` the maximum number of language model tokens (None: no limit). Raises
    RetrievalError without tools.
    """

    def __init__(
        self,
        planner: Planner,
        tools: Mapping[str, AgentTool],
        store: Store,
        *,
        steps: int = DEFAULT_STEPS,
        tokens: int | None = DEFAULT_TOKENS,
        name: str = "agent",
    ) -> None:
        if not tools:
            raise RetrievalError("An agent needs at least one tool.")
        self.name = name
        self._planner = planner
        self._tools = dict(tools)
        self._store = store
        self._steps = steps
        self._tokens = tokens

    def retrieve(self, query: Query) -> Evidence:
        """Return the merged findings of all steps, with their trace.

        Raises RetrievalError if the planner chooses an unknown tool.
        """
        *_, last = self.events(query)
        assert last.evidence is not None, "the last reply has the evidence"
        return last.evidence

    def events(self, query: Query) -> Iterator[AgentReply]:
        """Yield each step of `retrieve`; the last reply carries the evidence."""
        state = AgentState(
            query.text, query.k, tuple(self._tools), AgentBudget(max(self._steps, 1), self._tokens)
        )
        while state.budget.spent_steps < state.budget.steps:
            traced, move = len(state.trace), self._planner.next_move(state)
            if move is None:
                break
            evidence = self._search(move, state)
            step = AgentStep(
                number=state.budget.spent_steps,
                tool=move.tool,
                question=move.text,
                reason=move.reason,
                passages=len(evidence.hits),
                lines=tuple(line.strip() for line in state.trace[traced:]),
                tokens=state.budget.spent_tokens,
            )
            yield AgentReply(step=step)
        yield AgentReply(evidence=self._conclude(query, state))

    def _search(self, move: AgentMove, state: AgentState) -> Evidence:
        if move.tool not in self._tools:
            known = ", ".join(sorted(self._tools))
            raise RetrievalError(
                f"The planner chose the unknown tool `{move.tool}`; the tools are {known}."
            )
        state.budget.spent_steps += 1
        evidence = self._tools[move.tool].search(move.text, k=move.k or state.k)
        state.findings.append(StepFinding(move.tool, move.text, evidence, move.weight))
        first = evidence.hits[0].chunk if evidence.hits else None
        title = f", first {first.document_title or first.id}" if first else ""
        state.trace.append(f"{len(state.findings)}. {move.tool}: {move.text} ({move.reason})")
        state.trace.append(f"   {len(evidence.hits)} passages{title}")
        state.trace += [f"   {line}" for line in evidence.trace]
        if state.main is None:
            state.main = evidence
            state.judgement = judge_evidence(evidence, self._store)
            state.trace.append(f"   {state.judgement.text}")
        return evidence

    def _conclude(self, query: Query, state: AgentState) -> Evidence:
        main = state.main
        if main is None:
            return Evidence(query, self.name, notes=tuple(state.notes), trace=tuple(state.trace))
        hits = merge_findings(state.findings, question_evidence=main, k=query.k)
        paths: list[GraphPath] = []
        results: list[QueryResult] = []
        for finding in state.findings:
            paths += [path for path in finding.evidence.paths if path not in paths]
            results += finding.evidence.results
        spent = f"Took {state.budget.spent_steps} searches"
        if state.budget.spent_tokens:
            spent += f" and {state.budget.spent_tokens} tokens"
        if state.abstains:
            state.trace.append("Abstains: the evidence is poor.")
        state.trace.append(f"{spent}.")
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


@dataclass(frozen=True, slots=True)
class AgentMove:
    """The next search: a tool, a text, and the ``reason`` that the trace records.

    ``weight`` scales the scores of the findings relative to those of the question itself. ``k`` is
    the number of passages (0: that of the question).
    """

    tool: str
    text: str
    reason: str
    weight: float = 1.0
    k: int = 0


@dataclass(slots=True)
class AgentBudget:
    """The limits of an agent and what it has used of them.

    ``steps`` are searches, ``tokens`` those of a language model (None: no limit).
    """

    steps: int
    tokens: int | None = None
    spent_steps: int = 0
    spent_tokens: int = 0

    def can_ask(self, tokens: int) -> bool:
        """Return True if a model call of this many tokens is within the limit."""
        return self.tokens is None or self.spent_tokens + tokens <= self.tokens


@dataclass(slots=True)
class AgentState:
    """The state of an agent at work; ``main`` is the evidence for the question itself.

    ``unusable`` is how many replies of the planner's model in a row could not be used, and
    ``draft`` the steps that it expects to lead to the answer.
    """

    question: str
    k: int
    tools: tuple[str, ...]
    budget: AgentBudget
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


class Planner(Protocol):
    """Chooses the next search from the state of an agent."""

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the next search, or None if no further search is needed.

        May add to the trace and the notes of the state.
        """


DEFAULT_TOOLS = ("graph", "hybrid", "bm25")
"""The default tools of an agent; the first one is tried first."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A retriever under a name; ``summary`` describes its purpose to a planner."""

    name: str
    summary: str
    retriever: Retriever

    def search(self, text: str, *, k: int) -> Evidence:
        """Return the ``k`` best passages of the retriever for a text."""
        return self.retriever.retrieve(Query(text, k))


def make_tools(
    names: Sequence[str],
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
) -> dict[str, AgentTool]:
    """Return a tool for each retriever name, in the given order.

    Raises RetrievalError without a name, and the errors of `build_retriever`.
    """
    if not names:
        raise RetrievalError("An agent needs at least one tool.")
    return {
        name: AgentTool(
            name,
            RETRIEVERS.describe(name).summary if name in RETRIEVERS else name,
            build_retriever(name, store=store, embedder=embedder, model=model, reranker=reranker),
        )
        for name in names
    }


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


@dataclass(frozen=True, slots=True)
class StepFinding:
    """The evidence of one step; ``weight`` in [0, 1] scales its scores relative to the first."""

    tool: str
    text: str
    evidence: Evidence
    weight: float = 1.0


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


FOLLOWED = 4
FOLLOW_WEIGHT = 0.7
"""Weight of what a follow-up question finds, chosen on MuSiQue.

See benchmarks/results/agents-and-follow-ups.md.
"""

PART_WEIGHT = 0.7
WIDENED = 3
"""How many times as many passages are searched for if evidence is poor."""

REWRITE_WEIGHT = 0.3
OTHER_TOOL = "hybrid"
"""What a corrective agent searches with next, if it is among its tools."""


class IterativePlanner:
    """Asks the question, then its uncovered part about each of the likeliest entities found.

    A comparison is first asked about each of its two sides. The main tool searches.
    """

    def __init__(self, store: Store, *, followed: int = FOLLOWED) -> None:
        self._store = store
        self._followed = followed

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the question, then the sides of a comparison, then follow-ups on findings."""
        tool = state.tools[0]
        if state.main is None:
            return AgentMove(tool, state.question, "the question itself")
        asked = {finding.text for finding in state.findings}
        for part in split_comparison(state.question):
            if part not in asked:
                return AgentMove(tool, part, "one side of the comparison", PART_WEIGHT)
        found = (hit.chunk for finding in state.findings for hit in finding.evidence.hits)
        titles = {chunk.id: chunk.document_title for chunk in found}
        for follow in follow_up(state.main, self._store, most=self._followed):
            if follow.text not in asked:
                source = titles.get(follow.chunk_id) or follow.chunk_id
                reason = f"follows from {source}: worth {follow.worth:.2f}"
                return AgentMove(tool, follow.text, reason, FOLLOW_WEIGHT)
        return None


class CorrectivePlanner:
    """Judges the evidence; widens and rewrites the search if it is unsure or poor, and may abstain.

    After Yan et al., "Corrective Retrieval Augmented Generation" (2024), with the judge replaced
    by confidence and coverage, so that it costs no tokens. It abstains if the last judgement is
    still poor: the evidence keeps the confidence of the question itself, and has a note. Rewriting
    only adds passages: it never raises the confidence of a poor question.
    """

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the question, then a wider search, then a rewritten one, while still needed."""
        tool = state.tools[0]
        if state.main is None:
            return AgentMove(tool, state.question, "the question itself")
        judged = state.judgement
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
            state.notes.append("The evidence is still poor after searching in other ways.")
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


@dataclass(frozen=True, slots=True)
class ModelTask:
    """What a model is asked before each further search; ``name`` is that of its prompt and stage.

    ``read`` returns the search of a reply, None if the model is done, or raises Unparsable.
    """

    name: str
    output_tokens: int
    read: Callable[[ChatReply, AgentState], AgentMove | None]


class ModelPlanner:
    """Lets a model choose each search from what was found so far, as its task says.

    The first search is for the question itself, so that nothing depends on the model's memory. If
    the model fails, its reply is unusable or the token budget is used up, ``rules`` choose the next
    search, and a note explains why.
    """

    def __init__(
        self, model: ChatModel, rules: Planner, summaries: Mapping[str, str], task: ModelTask
    ) -> None:
        self._model = model
        self._rules = rules
        self._summaries = dict(summaries)
        self._task = task

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the question first, then the search that the model asks for."""
        if state.main is None:
            return AgentMove(state.tools[0], state.question, "the question itself")
        request = request_about(
            state.question,
            "knotwork.agents",
            self._task.name,
            self._model,
            stage=self._task.name,
            output_tokens=self._task.output_tokens,
            question=escape_tags(state.question.strip()),
            tools="\n".join(f"{name} - {self._summaries.get(name, '')}" for name in state.tools),
            draft=escape_tags("\n".join(state.draft)),
            found=escape_tags(show_findings(state)),
            left=str(state.budget.steps - state.budget.spent_steps),
        )
        asked = count_request(request, count_tokens)
        if not state.budget.can_ask(asked + self._task.output_tokens):
            return self._fall_back(state, "The token budget is used up: rules chose the next step.")
        if state.unusable >= MOST_UNUSABLE:
            return self._rules.next_move(state)
        try:
            text, move = complete_checked(
                self._model, request, lambda reply: (reply.text, self._task.read(reply, state))
            )
        except ModelError as error:
            state.unusable += 1
            if state.unusable >= MOST_UNUSABLE:
                state.notes.append(NO_LONGER_ASKED)
            return self._fall_back(state, f"The model chose no step: {error}")
        state.unusable = 0
        state.budget.spent_tokens += asked + count_tokens(text)
        return move

    def _fall_back(self, state: AgentState, note: str) -> AgentMove | None:
        if note not in state.notes:
            state.notes.append(note)
        return self._rules.next_move(state)


def parse_move(reply: ChatReply, state: AgentState) -> AgentMove | None:
    """Parse the next search of a reply; None if the model is done. Raises Unparsable."""
    found = _SEARCH_LINE.search(reply.text)
    if found is None:
        if says_finish(reply.text):
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
    steps = read_steps(reply.text)
    if not steps:
        if says_finish(reply.text):
            return None
        raise Unparsable("The reply has neither a step nor the end.")
    tool = state.tools[0]
    following = next((step for step in steps if not state.has_searched(tool, step)), "")
    if not following:
        raise Unparsable("The reply has only steps that were checked before.")
    state.draft = steps
    reason = f"step 1 of {len(steps)} of the draft" if len(steps) > 1 else "the drafted step"
    return AgentMove(tool, following, reason, STEP_WEIGHT)


def read_steps(text: str) -> tuple[str, ...]:
    """Return the steps of a draft, at most `MOST_STEPS`."""
    found = (match[1].strip().strip("\"'“”")[:_LONGEST_STEP] for match in _STEP_LINE.finditer(text))
    return tuple(dict.fromkeys(filter(None, found)))[:MOST_STEPS]


MODEL_TASKS = {
    "iterative": ModelTask("plan", 120, parse_move),
    "revising": ModelTask("draft", 240, read_draft),
}
"""The tasks of the model by the kind of agent."""


def says_finish(text: str) -> bool:
    """Return True if a line of a reply says that no further search is needed."""
    return _DONE.search(text) is not None


def show_findings(state: AgentState) -> str:
    """Return what each search found, for a prompt; a passage is shown once."""
    shown: set[str] = set()
    return "\n".join(
        f"# {finding.text}\n{_show_evidence(finding.evidence, shown)}" for finding in state.findings
    )


def _show_evidence(evidence: Evidence, shown: set[str]) -> str:
    """Return the best passages that were not ``shown`` yet, and add them to those."""
    new = [hit for hit in evidence.hits if hit.chunk.id not in shown][:SHOWN_HITS]
    shown.update(hit.chunk.id for hit in new)
    lines = []
    for hit in new:
        chunk = hit.chunk
        best = " ".join(chunk.text_at(span) for span, _ in hit.sentences[:2])
        text = " ".join((best or chunk.text).split())[:SHOWN_CHARACTERS]
        lines.append(f"{chunk.document_title}: {text}")
    lines += [f"rows: {[list(row) for row in result.rows[:5]]}" for result in evidence.results]
    return "\n".join(lines) or ("nothing new" if evidence.hits else "nothing")


FOLLOWED_HITS = 3
_LEAST_REST = 1
_WORD_OR_SIGN = re.compile(r"\w+(?:['’]\w+)?|\S", re.UNICODE)


@dataclass(frozen=True, slots=True)
class FollowUp:
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
    ids = {m.entity_id for found in mentions.values() for m in found}
    entities = store.graph.entities(ids)
    best: dict[str, FollowUp] = {}
    for entity_id, hit, sentence, worth in _follow_up_candidates(
        hits, mentions, entities, question
    ):
        is_name = any(character.isalpha() for character in entities[entity_id].name)
        if entity_id in question.named or not is_name:
            continue
        if entity_id in best and best[entity_id].worth >= worth:
            continue
        text = _rest_about(question, entities[entity_id].name, sentence)
        if text:
            best[entity_id] = FollowUp(text, entity_id, hit.chunk.id, worth)
    ranked = sorted(best.values(), key=lambda f: (-f.worth, f.entity))
    kept: list[FollowUp] = []
    for candidate in ranked:
        form = entities[candidate.entity].normal_form
        if len(kept) < most and not any(
            form in entities[k.entity].normal_form or entities[k.entity].normal_form in form
            for k in kept
        ):
            kept.append(candidate)
    return kept


def _follow_up_candidates(
    hits: Sequence[Hit],
    mentions: Mapping[str, Sequence[Mention]],
    entities: Mapping[str, Entity],
    question: Question,
) -> Iterator[tuple[str, Hit, str, float]]:
    top = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        share = hit.score / top if top > 0 else 0.0
        for span, relevance in hit.sentences[:SHOWN_SENTENCES]:
            sentence = hit.chunk.text_at(span)
            for mention in mentions.get(hit.chunk.id, ()):
                inside = any(span.contains(m) for m in mention.spans)
                entity = entities.get(mention.entity_id)
                if inside and entity is not None and mention.about < 1.0:
                    rare = rarity(entity.chunk_count, question.chunk_count) ** (1 / 3)
                    yield entity.id, hit, sentence, max(share * relevance * rare, 0.0)


def _rest_about(question: Question, name: str, sentence: str) -> str:
    """Return the words of a question that a sentence does not contain, followed by a name.

    Empty if nothing of the question is left to ask.
    """
    known = set(terms(sentence))
    kept, left = [], 0
    for match in _WORD_OR_SIGN.finditer(question.text):
        found = content_terms(match[0])
        if found and all(term in known for term in found):
            continue
        left += bool(found) and any(term in question.terms for term in found)
        kept.append(match[0])
    return f"{' '.join(kept)} {name}" if left >= _LEAST_REST else ""


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
    kept = []
    for match in _WORD.finditer(question):
        found = content_terms(match[0])
        if found and not all(term in missing for term in found):
            kept.append(match[0])
    return " ".join(kept) if len(kept) >= _FEWEST_WORDS else ""


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


def ask_agent(
    knowledge_base: KnowledgeBase, question: str, **options: Unpack[AgentOptions]
) -> tuple[Answer, Evidence]:
    """Return an answer of cited sentences, and the evidence with the trace of all steps.

    If a corrective agent abstains, there is no answer. Raises UnknownName for an unknown kind, tool
    or field, RetrievalError, FilterError for an invalid filter, ConfigError for invalid settings of
    a model.
    """
    *_, last = ask_agent_events(knowledge_base, question, **options)
    assert last.answer is not None and last.evidence is not None, "the last one has both"  # noqa: PT018
    return last.answer, last.evidence


def ask_agent_events(
    knowledge_base: KnowledgeBase, question: str, **options: Unpack[AgentOptions]
) -> Iterator[AgentReply]:
    """Yield each step of `ask_agent`; the last reply has the answer."""
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
        for reply in agent.events(Query(question, k, wanted)):
            if reply.evidence is None:
                yield reply
                continue
            most = settings.answer.max_sentences
            evidence = read_hits(reply.evidence, knowledge_base.reader, most=most)
            if wanted is not None:
                notes = (*note_nothing_left(store, wanted), *evidence.notes)
                evidence = replace(evidence, notes=notes)
            answer = compose_answer(evidence, store=store, settings=settings.answer)
            yield AgentReply(answer=replace(answer, mode="agent"), evidence=evidence)


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
