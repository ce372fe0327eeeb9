"""Planners of agents: iterative and corrective rules, and a language model backed by them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from knotwork._inference.call_costs import count_request
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, complete_checked
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_material import escape_tags
from knotwork._questions.reading import reading_of
from knotwork._retrieval.chunk_features import SHOWN_SENTENCES
from knotwork._retrieval.question import Question, rarity, read_question
from knotwork._stores.base import Store
from knotwork._text.terms import content_terms, terms
from knotwork._text.token_counts import count_tokens
from knotwork.agents._agent import AgentMove, AgentState, EvidenceVerdict, Planner
from knotwork.agents._prompting import fill_prompt
from knotwork.errors import ModelError, Unparsable
from knotwork.records import Entity, Evidence, Hit, Mention

FOLLOWED = 4
FOLLOW_WEIGHT = 0.7
"""Weight of what a follow-up question finds, chosen on MuSiQue.

See benchmarks/results/agents-and-follow-ups.md.
"""

PART_WEIGHT = 0.7
WIDENED = 3
"""How many times as many passages are searched for if evidence is poor."""

REWRITE_WEIGHT = 0.3


class IterativePlanner:
    """Asks the question, then its uncovered part about each of the likeliest entities found.

    A comparison is first asked about each of its two sides. ``tool`` is the tool to search with, by
    default the first. With ``stops_when_good``, good evidence of the first search ends the loop.
    """

    def __init__(
        self,
        store: Store,
        *,
        tool: str = "",
        followed: int = FOLLOWED,
        stops_when_good: bool = False,
    ) -> None:
        self._store = store
        self._tool = tool
        self._followed = followed
        self._stops_when_good = stops_when_good

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the question, then the sides of a comparison, then follow-ups on findings."""
        tool = self._tool or state.tools[0]
        if state.main is None:
            return AgentMove(tool, state.question, "the question itself")
        asked = {finding.text for finding in state.findings}
        judged = state.judgement
        if self._stops_when_good and judged and judged.verdict is EvidenceVerdict.GOOD:
            return None
        for part in split_comparison(state.question):
            if part not in asked:
                return AgentMove(tool, part, "one side of the comparison", PART_WEIGHT)
        for follow in follow_up(state.main, self._store, most=self._followed):
            if follow.text not in asked:
                source = _title_of(follow.chunk_id, state)
                reason = f"follows from {source}: worth {follow.worth:.2f}"
                return AgentMove(tool, follow.text, reason, FOLLOW_WEIGHT, led_by=follow.entity)
        return None


class CorrectivePlanner:
    """Judges the evidence; widens and rewrites the search if it is unsure or poor, and may abstain.

    After Yan et al., "Corrective Retrieval Augmented Generation" (2024), with the judge replaced
    by confidence and coverage, so that it costs no tokens. It abstains if the last judgement is
    still poor: the evidence keeps the confidence of the question itself, and has a note. Rewriting
    only adds passages: it never raises the confidence of a poor question.
    """

    def __init__(self, store: Store, *, other_tool: str = "hybrid") -> None:
        self._store = store
        self._other_tool = other_tool

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the question, then a wider search, then a rewritten one, while still needed."""
        tool = state.tools[0]
        if state.main is None:
            return AgentMove(tool, state.question, "the question itself")
        judged = state.judgement
        if judged is None or judged.verdict is EvidenceVerdict.GOOD:
            return None
        done = len(state.findings)
        other = self._other_tool if self._other_tool in state.tools else state.tools[-1]
        if done == 1 and other != tool:
            reason = f"{judged.verdict}: another retriever, more passages"
            return AgentMove(other, state.question, reason, REWRITE_WEIGHT, k=WIDENED * state.k)
        rewritten = keep_names(state.question, judged.missing)
        asked = {finding.text for finding in state.findings}
        if rewritten and rewritten not in asked and done <= 2:
            return AgentMove(
                tool, rewritten, f"{judged.verdict}: only names and rare words", REWRITE_WEIGHT
            )
        if judged.verdict is EvidenceVerdict.POOR:
            state.abstains = True
            state.notes.append("The evidence is still poor after searching in other ways.")
        return None


def _title_of(chunk_id: str, state: AgentState) -> str:
    """Return the title of the document of a chunk that was found, or else the chunk's id."""
    found = (hit.chunk for finding in state.findings for hit in finding.evidence.hits)
    return next((c.document_title for c in found if c.id == chunk_id), "") or chunk_id


PLAN_STAGE = "plan"
PLAN_OUTPUT_TOKENS = 120
STEP_WEIGHT = 0.8
MOST_UNUSABLE = 2
"""Unusable replies in a row, after which rules choose all further steps for a question."""
NO_LONGER_ASKED = "The model was not asked again, since its replies were unusable."
SHOWN_HITS = 4
SHOWN_CHARACTERS = 240
_SEARCH_LINE = re.compile(
    r"^[^\w\n]*+search\s*[|｜]\s*([\w+-]+)\s*[|｜]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE
)
_DONE = re.compile(
    r"^[^\w\n]*+(?:finish|done|none|完成|结束)[^\w\n]*+$", re.IGNORECASE | re.MULTILINE
)


class ModelPlanner:
    """Lets a model choose each search from what was found so far.

    The first search is for the question itself, so that nothing depends on the model's memory. If
    the model fails, its reply is unusable or the token budget is used up, ``rules`` choose the next
    search, and a note explains why.
    """

    output_tokens = PLAN_OUTPUT_TOKENS

    def __init__(self, model: ChatModel, rules: Planner, summaries: Mapping[str, str]) -> None:
        self._model = model
        self._rules = rules
        self._summaries = dict(summaries)

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the question first, then the search that the model asks for."""
        if state.main is None:
            return AgentMove(state.tools[0], state.question, "the question itself")
        request = self._request(state)
        expected = count_request(request, count_tokens) + self.output_tokens
        if not state.budget.can_ask(expected):
            return self._fall_back(state, "The token budget is used up: rules chose the next step.")
        if state.unusable >= MOST_UNUSABLE:
            return self._rules.next_move(state)
        try:
            text, move = complete_checked(
                self._model, request, lambda reply: (reply.text, self._read(reply, state))
            )
        except ModelError as error:
            state.unusable += 1
            if state.unusable >= MOST_UNUSABLE:
                state.notes.append(NO_LONGER_ASKED)
            return self._fall_back(state, f"The model chose no step: {error}")
        state.unusable = 0
        state.budget.spent_tokens += expected - self.output_tokens + count_tokens(text)
        return move

    def _fall_back(self, state: AgentState, note: str) -> AgentMove | None:
        if note not in state.notes:
            state.notes.append(note)
        return self._rules.next_move(state)

    def _request(self, state: AgentState) -> ChatRequest:
        language = reading_of(state.question).language
        blanks = {
            "question": escape_tags(state.question.strip()),
            "tools": "\n".join(f"{name} - {self._summaries.get(name, '')}" for name in state.tools),
            "found": escape_tags(show_findings(state)),
            "left": str(state.budget.steps - state.budget.spent_steps),
        }
        messages = fill_prompt("plan", language, blanks, prompts_of(self._model))
        return ChatRequest(messages, max_output_tokens=PLAN_OUTPUT_TOKENS, stage=PLAN_STAGE)

    def _read(self, reply: ChatReply, state: AgentState) -> AgentMove | None:
        """Return the search of a reply; None if the model is done. Raises Unparsable."""
        return parse_move(reply, state)


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
