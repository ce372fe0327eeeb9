"""Gleaning: another turn that asks for what the first reply left out; it costs the text again."""

from __future__ import annotations

from knotwork.inference.chat import ChatRequest
from knotwork.transform.model.drafts import Draft
from knotwork.transform.model.methods import ChunkTask, ask
from knotwork.transform.model.prompts import harmless, mark, prompts_in
from knotwork.transform.model.schema import ExtractionSchema


def gleaning_request(task: ChunkTask, draft: Draft, *, schema: ExtractionSchema) -> ChatRequest:
    """Return the request for what ``draft`` lacks; its names stand for it, as they are short."""
    prompts = prompts_in(task.language)
    ends = [name for r in draft.relations for name in (r.source, r.target)]
    names = dict.fromkeys([*(entity.name for entity in draft.entities), *ends])
    listed = harmless("; ".join(names)) or "-"
    wording = prompts.glean.format(names=listed, types=schema.types_text(prompts))
    parts = [wording, schema.rules_text(prompts), mark("text", task.text)]
    return ask("\n".join(part for part in parts if part), task)
