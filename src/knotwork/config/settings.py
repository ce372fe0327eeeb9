"""Settings tree: every setting with its default, bounds and explanation, and the index fingerprint.

Each section is a frozen dataclass. `fingerprint` covers the settings that change the result of
indexing a file; the ledger compares it. Settings never hold a secret, only the name of the
environment variable that does (`SecretRef`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from hashlib import blake2b
from typing import Any, get_type_hints

from knotwork.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SettingRule:
    """What is known of a setting beside its type and default.

    ``minimum`` and ``maximum`` are inclusive. ``shapes_index`` marks what changes the result of
    indexing a file; ``is_path`` values are relative to the file that sets them.
    """

    explanation: str
    minimum: float | None = None
    maximum: float | None = None
    may_be_empty: bool = True
    shapes_index: bool = False
    is_path: bool = False


def _setting(default: object, explanation: str, **options: Any) -> Any:  # noqa: ANN401
    return field(default=default, metadata={"rule": SettingRule(explanation, **options)})


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the index is."""

    path: str = _setting("knowledge.knot", "the index file", may_be_empty=False, is_path=True)


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The model that turns text into vectors."""

    model: str = _setting(
        "auto",
        '"auto" (the model of the index; for a new one multilingual-e5-small), "local:NAME" (this\n'
        'model, all-MiniLM-L6-v2, or any model or folder of sentence-transformers), "openai:NAME"\n'
        '(any OpenAI-compatible server) or "none" (full text and graph only)',
        may_be_empty=False,
    )
    download: bool = _setting(
        False, "whether to fetch a local model by name when it is not on this machine"
    )
    base_url: str = _setting(
        "https://api.openai.com/v1", "the server of an openai: model", may_be_empty=False
    )
    api_key: SecretRef | None = _setting(  # noqa: RUF009  it is a dataclass field
        None, 'the variable that holds its key, for example { env = "OPENAI_API_KEY" }'
    )
    dimension: int = _setting(
        0, "the length of its vectors; 0 asks the model", minimum=0, maximum=65_536
    )
    batch_tokens: int = _setting(
        0, "tokens in one batch or request; 0 is what suits the model", minimum=0, maximum=1_000_000
    )
    threads: int = _setting(
        0,
        "texts that a local model without PyTorch reads at a time, one to a core; 0 is all cores",
        minimum=0,
        maximum=256,
    )
    concurrency: int = _setting(4, "requests to a server at a time", minimum=1, maximum=256)
    timeout_s: float = _setting(60.0, "seconds to wait for a server", minimum=0.1, maximum=3_600)
    sentences: bool = _setting(
        True, "whether to embed sentences too; an openai: model is asked for each of them"
    )


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The language models, if any, and how their server is asked."""

    model: str = _setting(
        "none",
        '"openai:NAME" (any OpenAI-compatible server) or "none" (no tokens are ever spent)',
        may_be_empty=False,
    )
    base_url: str = _setting(
        "https://api.openai.com/v1",
        "the server of the models: OpenAI, vLLM, Ollama, llama.cpp, DeepSeek, DashScope, Azure …",
        may_be_empty=False,
    )
    api_key: SecretRef | None = _setting(  # noqa: RUF009  it is a dataclass field
        None, 'the variable that holds its key, for example { env = "OPENAI_API_KEY" }'
    )
    timeout_s: float = _setting(
        120.0, "seconds to wait for a silent server", minimum=0.1, maximum=3_600
    )
    concurrency: int = _setting(
        16, "calls at a time, at most; fewer while the server is overloaded", minimum=1, maximum=256
    )
    requests_per_minute: int = _setting(
        0, "calls in a minute, at most; 0 is no limit", minimum=0, maximum=1_000_000
    )
    tokens_per_minute: int = _setting(
        0, "tokens in and out in a minute, at most; 0 is no limit", minimum=0, maximum=1_000_000_000
    )
    temperature: float = _setting(
        0.0,
        "how freely replies are worded; 0 is what each step asks for, mostly none",
        minimum=0,
        maximum=2,
    )
    max_output_tokens: int = _setting(
        0,
        "tokens in a reply, at most; 0 is what each step asks for.\n"
        "A model that thinks needs some thousands more than its replies have",
        minimum=0,
        maximum=1_000_000,
    )
    tier: str = _setting(
        "lean",
        '"lean" asks a model where rules cannot do it, when it is needed (doubtful names, reports\n'
        'for a question, answers), "full" has it read every chunk and write reports beforehand,\n'
        '"none" leaves it out of the index; without a model nothing is asked in any of them',
        may_be_empty=False,
    )
    prices: tuple[str, ...] = _setting(
        (),
        'what a million tokens cost, in and out, by model: ["openai:gpt-* 0.15 0.60"]; the first\n'
        "that fits counts",
    )
    extract: str = _setting("", "the model that finds entities and relations; empty is llm.model")
    summarize: str = _setting(
        "", "the model that writes descriptions and reports; empty is llm.model"
    )
    keyword: str = _setting("", "the model that finds a question's keywords; empty is llm.model")
    answer: str = _setting("", "the model that writes answers; empty is llm.model")
    judge: str = _setting("", "the model that grades answers; empty is llm.model")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How documents become chunks and a graph."""

    splitter: str = _setting(
        "structure",
        "how documents are cut into chunks",
        may_be_empty=False,
        shapes_index=True,
    )
    chunk_tokens: int = _setting(
        200, "tokens in a chunk, at most", minimum=8, maximum=8_192, shapes_index=True
    )
    overlap_tokens: int = _setting(
        0, "tokens that neighbouring chunks share", minimum=0, maximum=4_096, shapes_index=True
    )
    parent_tokens: int = _setting(
        800, "tokens in a parent chunk, at most", minimum=8, maximum=65_536, shapes_index=True
    )
    extractor: str = _setting("rules", "what finds entities and relations", may_be_empty=False)
    dictionary: str = _setting("", "a file of names and types to look for", is_path=True)
    recording: str = _setting(
        "",
        "a JSONL file of entities and triples that a model found elsewhere, to be added to what "
        'the\nrules find: {"uri": ..., "entities": [...], "triples": [[s, r, o], ...]}',
        is_path=True,
    )
    questions: str = _setting(
        "none",
        'whether to index questions that each chunk answers, for the retriever "questions": '
        '"rules"\nmakes them of its sentences, "model" asks a language model, a few chunks a call',
        may_be_empty=False,
    )
    include: tuple[str, ...] = _setting(
        (), "globs of files to index; none means every known format"
    )
    exclude: tuple[str, ...] = _setting((), "globs of files to leave out, as in a .gitignore")
    max_file_mb: float = _setting(
        100.0,
        "the largest file to read; larger ones are skipped, and reported",
        minimum=0.001,
        maximum=100_000,
    )
    workers: int = _setting(
        -1,
        "processes that read and split files beside the main one, once there is much to do; 0\n"
        "starts none, -1 as many as there are cores to spare",
        minimum=-1,
        maximum=64,
    )


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """How a language model reads chunks, in the tier "full"."""

    form: str = _setting(
        "graph",
        '"graph" asks for entities and relations with descriptions, "triplets" for facts alone',
        may_be_empty=False,
    )
    schema: str = _setting(
        "", "a TOML file of the types and relations that are wanted; empty is any", is_path=True
    )
    question: str = _setting("", "what the graph is for, which limits it; empty is everything")
    gleanings: int = _setting(
        0, "times to ask each chunk for what is missing; each costs a call", minimum=0, maximum=5
    )
    check_relations: bool = _setting(
        False, "whether to ask if the text states each relation; costs a call a chunk"
    )
    memory_tokens: int = _setting(
        60, "tokens of similar earlier chunks in each prompt, at most", minimum=0, maximum=4_096
    )


@dataclass(frozen=True, slots=True)
class CommunitySettings:
    """How communities of the graph are found."""

    algorithm: str = _setting(
        "leiden", '"leiden", "louvain" or "label_propagation"', may_be_empty=False
    )
    max_size: int = _setting(
        0,
        "entities in a community; larger ones are divided into communities of the next level.\n"
        "0 is 50, and fewer in a small index, so that it has levels too",
        minimum=0,
        maximum=1_000_000,
    )
    levels: int = _setting(
        0, "levels of communities, at most; 0 is no limit", minimum=0, maximum=64
    )
    resolution: float = _setting(
        1.0,
        "how fine the topmost level is: 2 gives more and smaller communities, 0.5 fewer",
        minimum=0.01,
        maximum=100,
    )


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """How passages are found."""

    retriever: str = _setting("auto", "the retrieval pattern", may_be_empty=False)
    k: int = _setting(10, "how many passages to return", minimum=1, maximum=1_000)
    read_filters: bool = _setting(
        True,
        'whether a question restricts the search where it says so of documents, as in "reports\n'
        'from 2023" or "since version 12"',
    )


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """The model that reads a question and a passage together, for `rerank` and `paths`."""

    model: str = _setting(
        "none",
        '"local:FOLDER" (a cross-encoder with model.onnx and tokenizer.json), "local:NAME" (one '
        'of\nsentence-transformers, or its folder), "served:NAME" (a server with /rerank: vLLM, '
        'llama.cpp,\nTEI, Jina, Cohere …) or "none"',
        may_be_empty=False,
    )
    download: bool = _setting(
        False, "whether to fetch a local model by name when it is not on this machine"
    )
    threads: int = _setting(
        1, "processor threads of a local model in ONNX format", minimum=1, maximum=256
    )
    base_url: str = _setting(
        "http://localhost:8000/v1", "the server of a served: model", may_be_empty=False
    )
    api_key: SecretRef | None = _setting(  # noqa: RUF009  it is a dataclass field
        None, 'the variable that holds its key, for example { env = "JINA_API_KEY" }'
    )
    timeout_s: float = _setting(30.0, "seconds to wait for a server", minimum=0.1, maximum=3_600)


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """How answers are composed."""

    max_sentences: int = _setting(
        3,
        "sentences in an answer, at most; a question of several parts has one for each",
        minimum=1,
        maximum=50,
    )
    abstain_below: float = _setting(
        0.23,
        "the confidence below which no answer is given; 0 always answers",
        minimum=0,
        maximum=1,
    )
    context_tokens: int = _setting(
        1_600,
        "tokens of passages that a language model gets to answer from, at most",
        minimum=300,
        maximum=1_000_000,
    )
    reader: str = _setting(
        "auto",
        '"auto" (a small model reads the best passages for sentences that answer, where the index\n'
        'is embedded with multilingual-e5-small) or "off"',
        may_be_empty=False,
    )
    tables: bool = _setting(
        True, "whether rows of indexed tables answer questions that are surely about them"
    )


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How `knotwork serve` is reached, and how much one caller may ask of it."""

    host: str = _setting(
        "127.0.0.1",
        "the address to listen on; another than this machine's own needs a key",
        may_be_empty=False,
    )
    port: int = _setting(8321, "the port to listen on; 0 is any free one", minimum=0, maximum=65535)
    keys: str = _setting(
        "", "the file of keys; empty is `.knotwork-keys.json` beside the indexes", is_path=True
    )
    cors_origins: tuple[str, ...] = _setting(
        (), "web pages of other origins that may ask, as https://example.org; none by default"
    )
    max_upload_mb: float = _setting(
        200.0, "the largest upload, all its files together", minimum=0.001, maximum=100_000
    )
    question_chars: int = _setting(
        8_000, "characters in a question, at most", minimum=1, maximum=1_000_000
    )
    question_budget: str = _setting(
        "", 'a ceiling on what one question may spend: tokens, as "20k", or money, as "0.05 EUR"'
    )
    requests_per_minute: int = _setting(
        600, "requests of one key in a minute, at most; 0 is no limit", minimum=0, maximum=1_000_000
    )
    timeout_s: float = _setting(120.0, "seconds that a request may take", minimum=1, maximum=3_600)
    threads: int = _setting(8, "requests that are worked on at a time", minimum=1, maximum=256)
    waiting: int = _setting(
        256, "requests that wait for their turn; more are sent away", minimum=0, maximum=100_000
    )
    jobs: int = _setting(1, "indexing jobs that run at a time", minimum=1, maximum=16)
    open_indexes: int = _setting(
        16,
        "indexes that are kept open; for another, the one that was not used for longest is closed",
        minimum=1,
        maximum=10_000,
    )
    telemetry: bool = _setting(
        False, "whether to send OpenTelemetry traces, as the OTEL_ variables say (extra telemetry)"
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of Knotwork; a section of `knotwork.toml` is a field here."""

    store: StoreSettings = field(default_factory=StoreSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    extraction: ExtractionSettings = field(default_factory=ExtractionSettings)
    communities: CommunitySettings = field(default_factory=CommunitySettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    answer: AnswerSettings = field(default_factory=AnswerSettings)
    service: ServiceSettings = field(default_factory=ServiceSettings)


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting of the tree: ``name`` is "section.key"."""

    section: str
    key: str
    kind: object
    default: object
    rule: SettingRule

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"KNOTWORK_{self.section}_{self.key}".upper()


def sections() -> dict[str, type]:
    """Return the class of each section, in order."""
    hints = get_type_hints(Settings)
    return {section.name: hints[section.name] for section in fields(Settings)}


def setting_fields() -> Iterator[SettingField]:
    """Yield every setting, in the order of the tree."""
    for section, kind in sections().items():
        hints = get_type_hints(kind)
        entries: tuple[Field[Any], ...] = fields(kind)
        for entry in entries:
            rule: SettingRule = entry.metadata["rule"]
            yield SettingField(section, entry.name, hints[entry.name], entry.default, rule)


_RESULT_VERSION = 4
"""Raise it when equal settings give another result than before, so that files are read again."""


def fingerprint(index: IndexSettings, embedder_identity: str, extractor_name: str) -> str:
    """Return 16 hexadecimal digits that change when indexing a file would give another result.

    What only selects files (globs, sizes) is left out. The names stand for all that shapes their
    results, the extractor's dictionary among it; ``embedder_identity`` is empty without embedder.
    """
    shaping = {
        entry.key: getattr(index, entry.key)
        for entry in setting_fields()
        if entry.section == "index" and entry.rule.shapes_index
    }
    parts = [_RESULT_VERSION, shaping, embedder_identity, extractor_name]
    data = json.dumps(parts, sort_keys=True).encode()
    return blake2b(data, digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The name of the environment variable that holds a secret; written `{ env = "NAME" }`."""

    env: str

    def reveal(self, environ: Mapping[str, str] | None = None) -> str:
        """Return the secret, read now. Raises ConfigError when the variable is unset or empty."""
        value = (os.environ if environ is None else environ).get(self.env, "").strip()
        if not value:
            raise ConfigError(
                f"The environment variable `{self.env}`, named as a secret, is not set.",
                fix=f"Set it before the run: export {self.env}=…",
            )
        return value

    def is_set(self, environ: Mapping[str, str] | None = None) -> bool:
        """Tell whether the variable holds anything."""
        return bool((os.environ if environ is None else environ).get(self.env, "").strip())
