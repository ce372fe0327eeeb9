"""A planner that asks a language model for the next step, and falls back on rules."""

from __future__ import annotations

import re
from collections.abc import Mapping

from knotwork.agents.prompting import fill_prompt, make_harmless
from knotwork.agents.state import AgentState, Move, Planner
from knotwork.errors import ModelError, Unparsable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork.inference.checked import complete_checked
from knotwork.inference.estimates import count_request
from knotwork.records import Evidence
from knotwork.text.languages import detect_language
from knotwork.text.tokens import count_tokens

STAGE = "plan"
OUTPUT_TOKENS = 120
STEP_WEIGHT = 0.8
SHOWN_HITS = 4
SHOWN_CHARACTERS = 240
_LINE = re.compile(
    r"^\W*search\s*[|｜]\s*([\w+-]+)\s*[|｜]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE
)
_DONE = re.compile(r"^\W*(?:finish|done|none|完成|结束)\W*$", re.IGNORECASE | re.MULTILINE)


class ModelPlanner:
    """Shows a model what was found, and makes the search that it asks for.

    The first search is for the question itself, so that nothing depends on the model's memory.
    Where the model fails, says something that cannot be read, or the budget of tokens does not
    allow a call, ``rules`` go on and a note says so.
    """

    def __init__(self, model: ChatModel, rules: Planner, summaries: Mapping[str, str]) -> None:
        self._model = model
        self._rules = rules
        self._summaries = dict(summaries)

    def next_move(self, state: AgentState) -> Move | None:
        """Return the question first, then what the model asks for."""
        if state.main is None:
            return Move(state.tools[0], state.question, "the question as it is")
        request = self._request(state)
        expected = count_request(request, count_tokens) + OUTPUT_TOKENS
        if not state.budget.can_ask(expected):
            return self._fall_back(state, "The budget of tokens is spent: rules go on.")
        try:
            text, move = complete_checked(
                self._model, request, lambda reply: (reply.text, parse_move(reply, state))
            )
        except ModelError as error:
            return self._fall_back(state, f"The model chose no step: {error}")
        state.budget.spent_tokens += expected - OUTPUT_TOKENS + count_tokens(text)
        if move is not None and move.text in {finding.text for finding in state.findings}:
            return None
        return move

    def _fall_back(self, state: AgentState, note: str) -> Move | None:
        if note not in state.notes:
            state.notes.append(note)
        return self._rules.next_move(state)

    def _request(self, state: AgentState) -> ChatRequest:
        language = detect_language(state.question)
        found = "\n".join(
            f"# {finding.text}\n{_show(finding.evidence)}" for finding in state.findings
        )
        blanks = {
            "question": make_harmless(state.question.strip()),
            "tools": "\n".join(f"{name} - {self._summaries.get(name, '')}" for name in state.tools),
            "found": make_harmless(found),
            "left": str(state.budget.steps - state.budget.spent_steps),
        }
        messages = fill_prompt("plan", language, blanks)
        return ChatRequest(messages, max_output_tokens=OUTPUT_TOKENS, stage=STAGE)


def parse_move(reply: ChatReply, state: AgentState) -> Move | None:
    """Read the next search, or None where the model is done. Raises Unparsable."""
    found = _LINE.search(reply.text)
    if found is None:
        if _DONE.search(reply.text):
            return None
        raise Unparsable("The reply names neither a search nor the end.")
    tool = found[1].lower()
    if tool not in state.tools:
        raise Unparsable(f"There is no tool `{found[1]}`.")
    return Move(tool, found[2].strip().strip("\"'“”"), "chosen by the model", STEP_WEIGHT)


def _show(evidence: Evidence) -> str:
    lines = []
    for hit in evidence.hits[:SHOWN_HITS]:
        chunk = hit.chunk
        texts = [
            chunk.text[span.start - chunk.span.start : span.end - chunk.span.start]
            for span, _ in hit.sentences[:2]
        ]
        text = " ".join((" ".join(texts) or chunk.text).split())[:SHOWN_CHARACTERS]
        lines.append(f"{chunk.document_title}: {text}")
    lines += [f"rows: {[list(row) for row in result.rows[:5]]}" for result in evidence.results]
    return "\n".join(lines) or "nothing"
