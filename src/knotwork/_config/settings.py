"""Define every setting with its default, bounds and explanation, and the index fingerprint.

Each section is a frozen dataclass. `fingerprint` covers the settings that change the result of
indexing a file; the ledger compares it. Settings never contain a secret, only the name of the
environment variable that does (`SecretRef`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from hashlib import blake2b
from math import inf
from types import MappingProxyType
from typing import Any, get_type_hints

from knotwork._config.setting_values import (
    AUTO,
    NO_ENTRIES,
    NumberOrAuto,
    RoleModel,
    SecretRef,
    SettingRule,
    SettingTable,
    shown_url,
)
from knotwork._config.setting_values import setting as _setting

_API_VERSION = (
    "the api-version of a deployment on Azure; the key is then sent as api-key. Not needed if\n"
    "base_url ends in /openai/v1"
)
_EXTRA_HEADERS = 'headers of every request to the server: { x-team = "docs" }; secrets as api_key'
_EXTRA_BODY = 'fields to add to every request to the server: { reasoning_effort = "low" }'


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Location of the index."""

    path: str = _setting(
        "knowledge.knot",
        "the index: a file, or postgresql://USER@HOST:PORT/DATABASE?index=NAME; leave the\n"
        "password to PGPASSWORD or a password file (docs/postgresql.md)",
        may_be_empty=False,
        is_path=True,
    )
    synchronous: str = _setting(
        "full",
        '"full" waits for the disk with each commit; with "normal", a power failure may\n'
        "lose the last commits, and never damages the file. A killed process loses no\n"
        "commit",
        may_be_empty=False,
    )
    pool_size: int = _setting(
        8, "connections of one process to a database server", bounds=(1, 1_000)
    )
    statement_timeout_s: float = _setting(
        300.0, "seconds that one statement on a server may take; 0 is no limit", bounds=(0, inf)
    )
    lock_timeout_s: float = _setting(
        30.0, "seconds to wait there for another writer; 0 is no limit", bounds=(0, inf)
    )
    idle_timeout_s: float = _setting(
        600.0, "seconds that a transaction there may be idle; 0 is no limit", bounds=(0, inf)
    )
    retry_s: float = _setting(
        15.0, "seconds in which a lost connection to a server is opened again", bounds=(0, inf)
    )

    @property
    def shown_path(self) -> str:
        """The path as messages may show it: a URL without user and password."""
        return shown_url(self.path)

    def __repr__(self) -> str:
        return f"StoreSettings(path={self.shown_path!r}, …)"


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
        None, 'the variable with its key, for example { env = "OPENAI_API_KEY" }'
    )
    dimension: int = _setting(0, "the length of its vectors; 0 asks the model", bounds=(0, 65_536))
    threads: int = _setting(
        0,
        "texts that a local model without PyTorch embeds at a time, one per core; 0 is all cores",
        bounds=(0, 256),
    )
    concurrency: int = _setting(4, "concurrent requests to a server", bounds=(1, 256))
    timeout_s: float = _setting(60.0, "seconds to wait for a server", bounds=(0.1, 3_600))
    sentences: bool = _setting(
        True, "whether to embed sentences too; with an openai: model, each one is sent"
    )
    query_prefix: str = _setting(
        AUTO,
        'text before each question sent to an openai: model; "auto" is that of its family\n'
        "(e5, nomic, bge, Qwen3-Embedding …); an empty text adds nothing",
    )
    document_prefix: str = _setting(
        AUTO, 'text before each passage sent to an openai: model; "auto" as above'
    )
    api_version: str = _setting("", _API_VERSION)
    extra_headers: SettingTable = _setting(NO_ENTRIES, _EXTRA_HEADERS, holds_secrets=True)  # noqa: RUF009
    extra_body: SettingTable = _setting(NO_ENTRIES, _EXTRA_BODY)  # noqa: RUF009


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """Language models, and how to call their server."""

    model: str = _setting(
        "none",
        '"openai:NAME" (any OpenAI-compatible server), "ollama:NAME", "anthropic:NAME",\n'
        '"gguf:FILE" (a model file, served from a process of its own; extra `gguf`) or "none"\n'
        "(never spends tokens)",
        may_be_empty=False,
    )
    base_url: str = _setting(
        "https://api.openai.com/v1",
        "the server of the models: OpenAI, vLLM, llama.cpp, DeepSeek, DashScope, Azure …; unless\n"
        "set, http://localhost:11434 for ollama: and https://api.anthropic.com/v1 for anthropic:",
        may_be_empty=False,
    )
    api_key: SecretRef | None = _setting(  # noqa: RUF009  it is a dataclass field
        None, 'the variable with its key, for example { env = "OPENAI_API_KEY" }'
    )
    timeout_s: float = _setting(
        120.0,
        "longest silence of the server in seconds; a reply that goes on arriving may take longer",
        bounds=(0.1, 3_600),
    )
    concurrency: NumberOrAuto = _setting(  # noqa: RUF009  it is a dataclass field
        AUTO,
        'maximum number of concurrent calls, reduced while the server is overloaded; "auto" finds\n'
        "the fewest at which it computes the most tokens per second, up to 64",
        bounds=(1, 256),
    )
    requests_per_minute: int = _setting(
        0, "maximum number of calls per minute; 0 is no limit", bounds=(0, 1_000_000)
    )
    tokens_per_minute: int = _setting(
        0,
        "maximum number of input and output tokens per minute; 0 is no limit",
        bounds=(0, 1_000_000_000),
    )
    temperature: float = _setting(
        0.0, "sampling temperature; 0 is the default of each step, mostly 0", bounds=(0, 2)
    )
    max_output_tokens: int = _setting(
        0,
        "maximum number of tokens in a reply; 0 is the default of each step.\n"
        "A reasoning model needs several thousand more than its replies have",
        bounds=(0, 1_000_000),
    )
    context_window: int = _setting(
        0,
        "tokens of a prompt and its reply together; 0 learns it when a server refuses a longer\n"
        "one. For a gguf: model, 0 is what it was trained for, at most 8192; for ollama:, 8192",
        bounds=(0, 100_000_000),
    )
    threads: int = _setting(
        0, "processor threads of a gguf: model; 0 is all cores", bounds=(0, 256)
    )
    tier: str = _setting(
        "lean",
        '"lean" calls a model only if rules are not enough (doubtful names, reports for a\n'
        'question, answers), "full" lets it read every chunk and write all reports, "none"\n'
        "builds the index without it",
        may_be_empty=False,
    )
    batch: bool = _setting(
        False,
        'whether a model reads documents of the tier "full" in batches of its server: half the\n'
        "price, and replies within a day",
    )
    prices: tuple[str, ...] = _setting(
        (),
        "prices of a million input and output tokens by model, the first match counts; a\n"
        'third one is for input that the server has cached: ["openai:gpt-* 0.15 0.60 0.075"]',
    )
    api_version: str = _setting("", _API_VERSION)
    extra_headers: SettingTable = _setting(NO_ENTRIES, _EXTRA_HEADERS, holds_secrets=True)  # noqa: RUF009
    extra_body: SettingTable = _setting(NO_ENTRIES, _EXTRA_BODY)  # noqa: RUF009
    extract: RoleModel = _setting(  # noqa: RUF009  it is a dataclass field
        "",
        "the model that extracts entities and relations; empty is llm.model. A table, such as\n"
        "[llm.extract], may set its server too: model, base_url, api_key … of this section",
    )
    summarize: RoleModel = _setting(  # noqa: RUF009  it is a dataclass field
        "", "the model that writes descriptions and reports; empty is llm.model, or a table"
    )
    keyword: RoleModel = _setting(  # noqa: RUF009  it is a dataclass field
        "", "the model that extracts keywords from questions; empty is llm.model, or a table"
    )
    answer: RoleModel = _setting(  # noqa: RUF009  it is a dataclass field
        "", "the model that writes answers; empty is llm.model, or a table"
    )
    judge: RoleModel = _setting(  # noqa: RUF009  it is a dataclass field
        "", "the model that grades answers; empty is llm.model, or a table"
    )
    describe: RoleModel = _setting(  # noqa: RUF009  it is a dataclass field
        "",
        "the model that sees pictures and describes them, see index.pictures; empty is llm.model,\n"
        "or a table",
    )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Splitting of documents into chunks, and extraction of the graph."""

    splitter: str = _setting(
        "structure", "the splitter of documents into chunks", may_be_empty=False, shapes_index=True
    )
    chunk_tokens: int = _setting(
        200, "maximum number of tokens in a chunk", bounds=(8, 8_192), shapes_index=True
    )
    overlap_tokens: int = _setting(
        0, "tokens that neighbouring chunks share", bounds=(0, 4_096), shapes_index=True
    )
    parent_tokens: int = _setting(
        800, "maximum number of tokens in a parent chunk", bounds=(8, 65_536), shapes_index=True
    )
    extractor: str = _setting(
        "rules", "the extractor of entities and relations", may_be_empty=False
    )
    dictionary: str = _setting("", "a file of names and types to look for", is_path=True)
    recording: str = _setting(
        "",
        "a JSONL file of entities and triples that a model extracted elsewhere, added to those of "
        'the\nrules: {"uri": ..., "entities": [...], "triples": [[s, r, o], ...]}',
        is_path=True,
    )
    questions: str = _setting(
        "none",
        'questions that each chunk answers, for the retriever "questions": from "rules", a\n'
        '"model" or "none"',
        may_be_empty=False,
    )
    include: tuple[str, ...] = _setting(
        (), "globs of files to index; an empty list includes every known format"
    )
    exclude: tuple[str, ...] = _setting((), "globs of files to exclude, as in a .gitignore")
    follow_links: bool = _setting(True, "follow links that lead out of an indexed folder")
    pictures: str = _setting(
        "text",
        '"text" reads the text in pictures (extra `ocr`), "model" also lets llm.describe\n'
        "describe them, in documents that a model reads (tier full)",
        may_be_empty=False,
    )
    audio_model: str = _setting(
        "",
        "the folder of a Whisper model for CTranslate2, which recognises speech (extra\n`audio`)",
        is_path=True,
    )
    max_file_mb: float = _setting(
        100.0,
        "the largest file to read; larger ones are skipped and reported",
        bounds=(0.001, 100_000),
    )
    max_file_characters: int = _setting(
        10_000_000,
        "the most characters to take from a file; a large file may have 4 for each byte",
        bounds=(1_000, 10_000_000_000),
    )
    max_archive_mb: float = _setting(
        1_000.0,
        "the most that a ZIP or TAR archive may unpack to, with the archives in it",
        bounds=(0.001, 1_000_000),
    )
    max_archive_files: int = _setting(
        10_000,
        "the most files that an archive may contain, with those of the archives in it",
        bounds=(1, 10_000_000),
    )
    max_file_memory_mb: float = _setting(
        1_500.0,
        "memory for reading a file of up to 10 MB; a larger one has more in proportion",
        bounds=(50, 10_000_000),
    )
    max_file_seconds: float = _setting(
        60.0,
        "processor seconds for reading a file of up to 2 MB; a larger one has more in proportion",
        bounds=(1, 100_000),
    )
    compute: str = _setting(
        "processes",
        'where files are read and local models embed: "processes" of this machine, "ray" (a Ray\n'
        'cluster that is started here), "ray://HOST:PORT" or "ray:ADDRESS" (one that runs already)',
        may_be_empty=False,
    )
    workers: int = _setting(
        -1,
        "worker processes that read files; -1 is one per core, at most 8, 0 reads files in\n"
        "this process, without the limits of memory and time",
        bounds=(-1, 64),
    )


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """How a language model reads chunks, in the tier "full"."""

    form: str = _setting(
        "graph",
        '"graph" requests entities and relations with descriptions, "triplets" only facts,\n'
        '"oneke" gives an instruction, the schema and the text as JSON, for models trained on it',
        may_be_empty=False,
    )
    schema: str = _setting(
        "", "a TOML file of the allowed types and relations; empty allows all", is_path=True
    )
    examples: str = _setting(
        "",
        "a TOML file of texts with the entities and relations to extract, which each prompt shows",
        is_path=True,
    )
    strict: bool = _setting(
        False,
        "whether the graph has only the types and relations of extraction.schema, also those that\n"
        "rules, plugins and recordings extract, in every tier",
    )
    rules: bool = _setting(
        True,
        'whether the rules extract too; false leaves the graph to the model, in the tier "full",\n'
        "or to index.recording",
    )
    question: str = _setting("", "the purpose of the graph, which limits it; empty is no limit")
    gleanings: int = _setting(
        0, "extra calls per chunk that request missing entities", bounds=(0, 5)
    )
    check_relations: bool = _setting(
        False, "whether to verify that the text states each relation; costs a call per chunk"
    )
    memory_tokens: int = _setting(
        60, "maximum number of tokens of similar earlier chunks in each prompt", bounds=(0, 4_096)
    )


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The prompts of language models."""

    dir: str = _setting(
        "",
        "a folder of prompts that replace built-in ones; `knotwork prompts copy DIR` writes those",
        is_path=True,
    )


@dataclass(frozen=True, slots=True)
class CommunitySettings:
    """Community detection."""

    algorithm: str = _setting(
        "leiden", '"leiden", "louvain" or "label_propagation"', may_be_empty=False
    )
    max_size: int = _setting(
        0,
        "maximum number of entities in a community; larger ones are divided into the next\n"
        "level. 0 is 50, or less in a small index",
        bounds=(0, 1_000_000),
    )
    levels: int = _setting(0, "maximum number of levels; 0 is no limit", bounds=(0, 64))
    resolution: float = _setting(
        1.0,
        "resolution of the topmost level: 2 gives more and smaller communities, 0.5 fewer",
        bounds=(0.01, 100),
    )


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Retrieval of passages."""

    retriever: str = _setting("auto", "the retriever", may_be_empty=False)
    k: int = _setting(
        10,
        "the number of passages to return; the prompt of a language model has more, up to\n"
        "`answer.context_tokens`",
        bounds=(1, 1_000),
    )
    read_filters: bool = _setting(
        True,
        'whether to derive filters from the question, as from "reports from 2023" or "since\n'
        'version 12"',
    )


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Memory of Cypher and SQL statements."""

    memory_mb: int = _setting(
        256, "memory that one statement may use, as estimated", bounds=(1, 1_000_000)
    )
    total_memory_mb: int = _setting(
        512,
        "memory that all statements of a process that run at the same time may use; of the index\n"
        "that the process opened last",
        bounds=(1, 1_000_000),
    )
    result_mb: int = _setting(
        16, "maximum size of the rows that a statement returns", bounds=(1, 100_000)
    )


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """A graph database that holds a copy of the graph."""

    mirror: str = _setting(
        "",
        "the database to mirror the graph to: bolt://USER@HOST:7687/DATABASE (extra bolt).\n"
        "`knotwork graph mirror` updates it",
        is_server=True,
    )
    mirror_password: SecretRef | None = _setting(  # noqa: RUF009  it is a dataclass field
        None, 'the variable with its password, for example { env = "NEO4J_PASSWORD" }'
    )
    cypher: str = _setting(
        "index",
        'where Cypher on the graph of the documents runs, and explore: "index" or "mirror"',
        may_be_empty=False,
    )


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """The cross-encoder of `rerank` and `paths`, which scores a question with a passage."""

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
    threads: int = _setting(1, "processor threads of a local model in ONNX format", bounds=(1, 256))
    base_url: str = _setting(
        "http://localhost:8000/v1", "the server of a served: model", may_be_empty=False
    )
    api_key: SecretRef | None = _setting(  # noqa: RUF009  it is a dataclass field
        None, 'the variable with its key, for example { env = "JINA_API_KEY" }'
    )
    timeout_s: float = _setting(30.0, "seconds to wait for a server", bounds=(0.1, 3_600))


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Composition of answers."""

    max_sentences: int = _setting(
        3,
        "maximum number of sentences in an answer; a question with several parts has one per part",
        bounds=(1, 50),
    )
    abstain_below: float = _setting(
        0.2, "the confidence below which there is no answer; 0 always answers", bounds=(0, 1)
    )
    context_tokens: int = _setting(
        4_000,
        "maximum number of tokens of passages in the prompt of a language model",
        bounds=(300, 1_000_000),
    )
    reader: str = _setting(
        "auto",
        '"auto" (a small model selects the sentences that answer, if the embedding model is\n'
        'multilingual-e5-small) or "off"',
        may_be_empty=False,
    )
    tables: bool = _setting(
        True, "whether to answer questions from indexed tables if they are clearly about one"
    )


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Address and limits of `knotwork serve`."""

    host: str = _setting(
        "127.0.0.1",
        "the address to listen on; any other than the loopback address needs a key",
        may_be_empty=False,
    )
    port: int = _setting(8321, "the port to listen on; 0 is any free one", bounds=(0, 65535))
    keys: str = _setting(
        "", "the file of keys; empty is `.knotwork-keys.json` beside the indexes", is_path=True
    )
    cors_origins: tuple[str, ...] = _setting(
        (), "other origins whose web pages may send requests, such as https://example.org"
    )
    max_upload_mb: float = _setting(
        200.0, "maximum size of an upload with all its files", bounds=(0.001, 100_000)
    )
    question_chars: int = _setting(
        8_000, "maximum number of characters in a question", bounds=(1, 1_000_000)
    )
    question_budget: str = _setting(
        "", 'a limit on the cost of one question: in tokens, as "20k", or in money, as "0.05 EUR"'
    )
    requests_per_minute: int = _setting(
        600, "maximum number of requests per key and minute; 0 is no limit", bounds=(0, 1_000_000)
    )
    timeout_s: float = _setting(120.0, "time limit of a request in seconds", bounds=(1, 3_600))
    connections: int = _setting(
        1_000,
        "maximum number of open connections; fewer if the process may not open as many files",
        bounds=(8, 1_000_000),
    )
    connections_per_client: int = _setting(
        256, "maximum number of open connections of one address", bounds=(4, 1_000_000)
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto\n"
        'headers count, such as "10.0.0.0/8"; their connections are limited in total only',
    )
    threads: int = _setting(8, "requests that run concurrently", bounds=(1, 256))
    waiting: int = _setting(
        256, "requests in the queue; further ones are rejected", bounds=(0, 100_000)
    )
    jobs: int = _setting(1, "indexing jobs that run concurrently", bounds=(1, 16))
    open_indexes: int = _setting(
        16,
        "indexes that stay open; beyond that, the least recently used idle one is closed",
        bounds=(1, 10_000),
    )
    telemetry: bool = _setting(
        False,
        "whether to send OpenTelemetry traces, configured by OTEL_ variables (extra telemetry)",
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of Knotwork; a section of `knotwork.toml` is a field here."""

    store: StoreSettings = field(default_factory=StoreSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    extraction: ExtractionSettings = field(default_factory=ExtractionSettings)
    prompts: PromptSettings = field(default_factory=PromptSettings)
    communities: CommunitySettings = field(default_factory=CommunitySettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    query: QuerySettings = field(default_factory=QuerySettings)
    graph: GraphSettings = field(default_factory=GraphSettings)
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
        return f"KNOTWORK_{self.section}_{self.key}".upper().replace(".", "_")

    def shown(self, settings: Settings) -> object:
        """Return the value in these settings; the URL of an index without user and password."""
        value = getattr(getattr(settings, self.section), self.key)
        return shown_url(value) if self.rule.is_path and isinstance(value, str) else value


@cache
def sections() -> Mapping[str, type]:
    """Return the class of each section by name, in order."""
    hints = get_type_hints(Settings)
    return MappingProxyType({section.name: hints[section.name] for section in fields(Settings)})


@cache
def setting_fields() -> tuple[SettingField, ...]:
    """Return every setting, in the order of the tree."""
    found = []
    for section, kind in sections().items():
        hints = get_type_hints(kind)
        entries: tuple[Field[Any], ...] = fields(kind)
        for entry in entries:
            rule: SettingRule = entry.metadata["rule"]
            found.append(SettingField(section, entry.name, hints[entry.name], entry.default, rule))
    return tuple(found)


def role_fields() -> Iterator[SettingField]:
    """Yield the settings of [llm] that a role may have of its own, such as llm.extract.base_url."""
    llm = [entry for entry in setting_fields() if entry.section == "llm"]
    roles = [entry for entry in llm if entry.kind == RoleModel]
    for role in roles:
        for entry in llm:
            if entry not in roles and entry.key != "tier":
                yield replace(entry, key=f"{role.key}.{entry.key}")


@cache
def named_settings() -> Mapping[str, SettingField]:
    """Return all settings that can be set, those of roles included, by name."""
    entries = (*setting_fields(), *role_fields())
    return MappingProxyType({entry.name: entry for entry in entries})


_RESULT_VERSION = 4
"""Increase it if the same settings give a different result, so that files are indexed again."""


def fingerprint(index: IndexSettings, embedder_identity: str, extractor_name: str) -> str:
    """Return 16 hexadecimal digits that change if indexing a file would give a different result.

    Settings that only select files (globs, sizes) have no effect. ``embedder_identity`` (empty
    without an embedder) and ``extractor_name`` cover everything that shapes their results, such as
    the dictionary of the extractor.
    """
    shaping = {
        entry.key: getattr(index, entry.key)
        for entry in setting_fields()
        if entry.section == "index" and entry.rule.shapes_index
    }
    parts = [_RESULT_VERSION, shaping, embedder_identity, extractor_name]
    data = json.dumps(parts, sort_keys=True).encode()
    return blake2b(data, digest_size=8).hexdigest()
