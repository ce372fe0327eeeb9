"""Models trained for extraction by JSON instructions, such as OneKE: another prompt and parser.

The form is that of the IEPile corpus (Gui et al., 2024): an object with ``instruction``, ``schema``
and ``input`` goes in, and an object that maps each name of the schema to what was found comes out.
Such a model follows no other wording, so there is neither memory nor a repair turn in words: a
second attempt says the schema again with a note in the instruction.
"""

from __future__ import annotations

import json

from knotwork.inference.chat import ChatRequest
from knotwork.transform.model.drafts import Draft
from knotwork.transform.model.json_form import JsonReader
from knotwork.transform.model.methods import ChunkTask, ask
from knotwork.transform.model.schema import ExtractionSchema

VERSION = 1

_TRIPLES = {
    "en": (
        "You are an expert in extracting relation triples. Extract the triples that match the "
        "schema from the input; return an empty list for a relation that does not occur. Answer "
        "in JSON."
    ),
    "zh": (
        "你是抽取关系三元组的专家。请从input中抽取符合schema的关系三元组，不存在的关系返回空列表。"
        "请以JSON回答。"
    ),
}
_ENTITIES = {
    "en": (
        "You are an expert in named entity recognition. Extract the entities that match the "
        "schema from the input; return an empty list for a type that does not occur. Answer in "
        "JSON."
    ),
    "zh": (
        "你是实体识别的专家。请从input中抽取符合schema的实体，不存在的类型返回空列表。请以JSON回答。"
    ),
}
_AGAIN = {"en": " The last answer was no JSON.", "zh": "上次的回答不是JSON。"}


class InstructionMethod:
    """Asks by a JSON instruction for the relations of a schema; implements `ExtractionMethod`.

    Where the schema names no relations, it asks for entities. A model was trained with few names in
    one instruction (OneKE: about four), and one call a chunk is made, so keep the schema small.
    """

    def __init__(self, schema: ExtractionSchema) -> None:
        self.schema = schema

    @property
    def name(self) -> str:
        return f"instruction-{VERSION}-schema-{self.schema.fingerprint[:8]}"

    def request(self, task: ChunkTask, *, fault: str = "") -> ChatRequest:
        """Return the request for a chunk."""
        relations = self.schema.all_relation_types
        wording = (_TRIPLES if relations else _ENTITIES)[task.language]
        instruction = {
            "instruction": wording + (_AGAIN[task.language] if fault else ""),
            "schema": list(relations or self.schema.all_entity_types),
            "input": task.text,
        }
        return ask(json.dumps(instruction, ensure_ascii=False), task)

    def read(self, reply: str, *, cut: bool = False) -> Draft:
        """Return the records of a reply; never fails."""
        return self.schema.admit(JsonReader().read(reply, cut=cut))
