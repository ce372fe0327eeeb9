"""Have a model write the questions that chunks answer, several chunks in a call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork._extensions.model_indexing.batch_requests import batches_by_language, make_messages
from knotwork._indexing.chunk_questions import MOST_QUESTIONS, TASK, write_questions
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, complete_checked
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_material import escape_passage, restore
from knotwork._text.terms import content_terms
from knotwork.errors import ModelError, Unparsable
from knotwork.records import Chunk, Extraction

STAGE = "questions"
CHUNKS_A_CALL = 6
_OUTPUT_TOKENS = 90
_NUMBERED = re.compile(r"\W*(\d{1,3})\s*[|:：.、)）\]]\s*(\S.*)")


@dataclass(frozen=True, slots=True)
class ModelQuestionWriter:
    """Has ``model`` write the questions; chunks without a usable reply get those of the rules."""

    model: ChatModel

    def __call__(
        self, chunks: Sequence[Chunk], extractions: Sequence[Extraction]
    ) -> dict[str, tuple[str, ...]]:
        """Return questions by chunk id, without chunks that answer none."""
        found = write_questions(chunks, extractions)
        for language, batch in batches_by_language(
            chunks, lambda chunk: chunk.text, size=CHUNKS_A_CALL
        ):
            found |= self._ask(language, batch)
        return found

    def _ask(self, language: str, chunks: Sequence[Chunk]) -> dict[str, tuple[str, ...]]:
        material = "\n".join(
            f"[{number}] {escape_passage(' '.join(f'{chunk.context} | {chunk.text}'.split()))}"
            for number, chunk in enumerate(chunks, start=1)
        )
        request = ChatRequest(
            make_messages(TASK, language, material, prompts=prompts_of(self.model)),
            max_output_tokens=_OUTPUT_TOKENS * len(chunks),
            stage=STAGE,
        )
        try:
            read = complete_checked(self.model, request, _read_reply)
        except ModelError:
            return {}  # the chunks keep the rules' questions
        return {
            chunks[number - 1].id: tuple(questions[:MOST_QUESTIONS])
            for number, questions in read.items()
            if 1 <= number <= len(chunks)
        }


def _read_reply(reply: ChatReply) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for line in restore(reply.text).splitlines():
        if (match := _NUMBERED.match(line)) and content_terms(match[2]):
            found.setdefault(int(match[1]), []).append(match[2].strip())
    if not found:
        raise Unparsable("The reply holds no numbered question.")
    return found
