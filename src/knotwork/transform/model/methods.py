"""Methods: how a model is asked about one chunk, and how its reply is read.

A method is a plug-in: a class in a file of its own with the shape of `ExtractionMethod`. Here are
the protocol and the two methods that speak the line form; `instructions` holds one for models that
were trained to take a JSON instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from knotwork.inference.chat import ChatRequest, Message
from knotwork.records import content_id
from knotwork.text.tokens import count_tokens
from knotwork.transform.model.drafts import Draft
from knotwork.transform.model.json_form import JsonReader
from knotwork.transform.model.lines import LineReader
from knotwork.transform.model.prompts import mark, prompts_fingerprint, prompts_in
from knotwork.transform.model.schema import ExtractionSchema

STAGE = "extract"
_LEAST_OUTPUT_TOKENS = 512


@dataclass(frozen=True, slots=True)
class ChunkTask:
    """What a model is asked to read: a chunk's text, and what may help to read it.

    ``language`` is "en" or "zh". ``source`` is the document's uri, for the ledger. ``memory`` are
    names and facts of similar earlier chunks, one a line, already bounded in tokens.
    """

    text: str
    language: str = "en"
    source: str = ""
    memory: str = ""


class ReplyReader(Protocol):
    """Reads the replies of a model."""

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply and all that cannot be read; never fail.

        ``cut`` says that the reply ended at its limit of tokens.
        """


class ExtractionMethod(ReplyReader, Protocol):
    """Asks a model about a chunk and reads its reply.

    ``name`` changes with anything that changes a request or what is read from a reply.
    """

    @property
    def name(self) -> str: ...

    def request(self, task: ChunkTask, *, fault: str = "") -> ChatRequest:
        """Return the request for a chunk.

        ``fault`` says why the last reply could not be read, in one sentence: the same request
        follows from the same fault, so that a resumed run finds the reply that it paid for.
        """


class LineMethod:
    """Asks in the line form; implements `ExtractionMethod`.

    ``form`` "graph" asks for entities and relations with summaries, "triplets" for facts alone,
    with examples. ``question`` limits both to what bears on it.
    """

    def __init__(
        self,
        form: Literal["graph", "triplets"] = "graph",
        *,
        schema: ExtractionSchema | None = None,
        question: str = "",
    ) -> None:
        self.form = form
        self.schema = schema or ExtractionSchema()
        self.question = question.strip()
        self._lines = LineReader(triplets=form == "triplets", types=self.schema.all_entity_types)

    @property
    def name(self) -> str:
        parts = [self.form, prompts_fingerprint()[:8]]
        if self.schema:
            parts.append(f"schema-{self.schema.fingerprint[:8]}")
        if self.question:
            parts.append(f"question-{content_id(self.question)[:8]}")
        return "-".join(parts)

    def request(self, task: ChunkTask, *, fault: str = "") -> ChatRequest:
        """Return the request for a chunk, fixed words first: servers reuse equal beginnings."""
        prompts = prompts_in(task.language)
        wording = prompts.graph if self.form == "graph" else prompts.triplets
        parts = [
            wording.format(types=self.schema.types_text(prompts))
            if self.form == "graph"
            else wording
        ]
        parts.append(self.schema.rules_text(prompts))
        if self.question:
            parts += [prompts.question, mark("question", self.question)]
        if task.memory:
            parts += [prompts.memory, mark("memory", task.memory)]
        parts.append(mark("text", task.text))
        if fault:
            parts.append(prompts.repair.format(reason=f"{fault} "))
        return ask("\n".join(part for part in parts if part), task)

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply, in JSON too, as some models know no other form."""
        draft = self._lines.read(reply, cut=cut)
        if not draft.records:
            other = JsonReader().read(reply, cut=cut)
            draft = other if other.records else draft
        return self.schema.admit(draft)


def ask(content: str, task: ChunkTask) -> ChatRequest:
    """Return a request that says one thing about a chunk.

    Its limit of output is generous: a reply that runs into it repeats itself.
    """
    limit = max(_LEAST_OUTPUT_TOKENS, 4 * count_tokens(task.text))
    return ChatRequest(
        (Message("user", content),), max_output_tokens=limit, stage=STAGE, source=task.source
    )
