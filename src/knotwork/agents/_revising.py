"""Draft the steps to an answer, and revise the draft by what each step finds.

After Wang et al., "RAT: Retrieval Augmented Thoughts" (2024): a draft of the reasoning is a better
query than the question, and each search corrects what is still to be checked. Here the draft is
nothing but queries: answers cite passages, so no statement of a draft gets into one by itself.
"""

from __future__ import annotations

import re

from knotwork._inference.chat import ChatReply, ChatRequest
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_material import escape_tags
from knotwork._questions.reading import reading_of
from knotwork.agents._agent import AgentMove, AgentState
from knotwork.agents._planners import STEP_WEIGHT, ModelPlanner, says_finish, show_findings
from knotwork.agents._prompting import fill_prompt
from knotwork.errors import Unparsable

DRAFT_STAGE = "draft"
DRAFT_OUTPUT_TOKENS = 240
MOST_STEPS = 4
_LONGEST_STEP = 400
_STEP_LINE = re.compile(r"^[^\w\n]*+step\s*\d*\s*[|｜:：]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)


class RevisingPlanner(ModelPlanner):
    """Lets a model draft the steps to an answer, and searches for the first that is not checked.

    The first search is for the question itself. Each further one follows a revision of the draft by
    all that was found. If the model fails, ``rules`` choose the next search, and a note says why.
    """

    output_tokens = DRAFT_OUTPUT_TOKENS

    def _request(self, state: AgentState) -> ChatRequest:
        blanks = {
            "question": escape_tags(state.question.strip()),
            "draft": escape_tags("\n".join(state.draft)),
            "found": escape_tags(show_findings(state)),
            "left": str(state.budget.steps - state.budget.spent_steps),
        }
        language = reading_of(state.question).language
        messages = fill_prompt("draft", language, blanks, prompts_of(self._model))
        return ChatRequest(messages, max_output_tokens=DRAFT_OUTPUT_TOKENS, stage=DRAFT_STAGE)

    def _read(self, reply: ChatReply, state: AgentState) -> AgentMove | None:
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
