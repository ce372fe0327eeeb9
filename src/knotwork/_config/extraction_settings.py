"""The settings of extraction by a language model, and of prompts."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork._config.setting_values import setting


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """How a language model reads chunks, in the tier "full"."""

    form: str = setting(
        "graph",
        '"graph" requests entities and relations with descriptions, "triplets" only facts,\n'
        '"oneke" gives an instruction, the schema and the text as JSON, for models trained on it',
        may_be_empty=False,
    )
    schema: str = setting(
        "", "a TOML file of the allowed types and relations; empty allows all", is_path=True
    )
    examples: str = setting(
        "",
        "a TOML file of texts with the entities and relations to extract, which each prompt shows",
        is_path=True,
    )
    strict: bool = setting(
        False,
        "whether the graph has only the types and relations of extraction.schema, also those that\n"
        "rules, plugins and recordings extract, in every tier",
    )
    rules: bool = setting(
        True,
        'whether the rules extract too; false leaves the graph to the model, in the tier "full",\n'
        "or to index.recording",
    )
    question: str = setting("", "the purpose of the graph, which limits it; empty is no limit")
    gleanings: int = setting(
        0, "extra calls per chunk that request missing entities", minimum=0, maximum=5
    )
    check_relations: bool = setting(
        False, "whether to verify that the text states each relation; costs a call per chunk"
    )
    memory_tokens: int = setting(
        60,
        "maximum number of tokens of similar earlier chunks in each prompt",
        minimum=0,
        maximum=4_096,
    )


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The prompts of language models."""

    dir: str = setting(
        "",
        "a folder of prompts that replace built-in ones; `knotwork prompts copy DIR` writes those",
        is_path=True,
    )
