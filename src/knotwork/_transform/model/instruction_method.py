"""Ask in the form of OneKE: an instruction, a schema and the input, as one JSON object.

Models that were trained to extract knowledge by instructions, as OneKE was (Zhejiang University
and Ant Group, https://github.com/zjunlp/DeepKE/blob/main/example/llm/OneKE.md), know this form:
the schema is a list of types or of relations, and the reply an object with an entry for each.
"""

from __future__ import annotations

import json
from typing import Any

from knotwork._inference.chat import ChatRequest
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork._inference.prompt_material import escape_tags
from knotwork._transform.model.extraction_examples import ExtractionExample, ExtractionExamples
from knotwork._transform.model.extraction_methods import (
    ChunkTask,
    FailedReply,
    chunk_request,
    method_name,
    repair_request,
)
from knotwork._transform.model.extraction_schema import ExtractionSchema
from knotwork._transform.model.prompts import prompts_in
from knotwork._transform.model.reply_formats import JsonReader, LineReader
from knotwork._transform.model.reply_records import Draft, fold_word
from knotwork.errors import ConfigError


class InstructionMethod:
    """Asks by a JSON instruction; implements `ExtractionMethod`.

    With entity types alone or relations alone in the schema, both are lists, as such models were
    trained; with both, they are an object. The memory of a chunk is left out: the form has no place
    for it. Raises ConfigError for a schema that lists nothing.
    """

    def __init__(
        self,
        schema: ExtractionSchema,
        *,
        question: str = "",
        examples: ExtractionExamples | None = None,
        prompts: OwnPrompts = BUILT_IN,
    ) -> None:
        self.prompts = prompts
        if not schema:
            raise ConfigError(
                'extraction.form is "oneke", which needs a schema, and extraction.schema lists '
                "none.",
                fix="Set extraction.schema to a file that lists types or relations (`knotwork "
                'schema propose` makes one), or extraction.form to "graph".',
            )
        self.schema = schema
        self.question = question.strip()
        self.examples = examples or ExtractionExamples()
        self._lines = LineReader(types=schema.all_entity_types)

    @property
    def name(self) -> str:
        return method_name("oneke", self.schema, self.question, self.examples, self.prompts)

    def request(self, task: ChunkTask, *, failed: FailedReply | None = None) -> ChatRequest:
        """Return the request for a chunk, its text last: servers cache common prefixes."""
        prompts = prompts_in(task.language, self.prompts)
        types, relations = self.schema.all_entity_types, self.schema.all_relation_types
        if types and relations:
            instruction = prompts.oneke_graph
        else:
            instruction = prompts.oneke_entities if types else prompts.oneke_relations
        if self.question:
            instruction = f"{instruction} {prompts.question} {self.question}"
        parts: dict[str, Any] = {
            "instruction": " ".join(instruction.split()),
            "schema": self._by_kind(list(types), list(relations)),
        }
        if examples := self.examples.in_language(task.language):
            parts["example"] = [
                {"input": example.text, "output": self._output(example)} for example in examples
            ]
        parts["input"] = escape_tags(task.text).strip()
        request = chunk_request(json.dumps(parts, ensure_ascii=False), task)
        if failed is None:
            return request
        return repair_request(request, failed, wording=prompts.repair)

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply, also if it is in lines."""
        draft = JsonReader().read(reply, cut=cut)
        if not draft.records and not draft.says_nothing:
            other = self._lines.read(reply, cut=cut)
            draft = other if other.records or other.says_nothing else draft
        return self.schema.admit(draft)

    def _output(self, example: ExtractionExample) -> Any:  # noqa: ANN401  any JSON value
        """Return the reply that is expected for an example, with all entries of the schema."""

        def of(kind: str) -> list[str]:
            return [e.name for e in example.entities if fold_word(e.type) == fold_word(kind)]

        def joined(relation: str) -> list[dict[str, str]]:
            return [
                {"subject": fact.source, "object": fact.target}
                for fact in example.relations
                if fold_word(fact.relation) == fold_word(relation)
            ]

        return self._by_kind(
            {kind: of(kind) for kind in self.schema.all_entity_types},
            {relation: joined(relation) for relation in self.schema.all_relation_types},
        )

    def _by_kind(self, types: object, relations: object) -> Any:  # noqa: ANN401  any JSON value
        if not self.schema.all_relation_types:
            return types
        if not self.schema.all_entity_types:
            return relations
        return {"entities": types, "relations": relations}
