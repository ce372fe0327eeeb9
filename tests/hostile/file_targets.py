"""Files beside the documents: settings, schemas, questions, graphs, keys, and damaged databases."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from tests.hostile.mutations import damaged, loose
from tests.hostile.targets import Target

import knotwork
from knotwork._config.loading import load_settings, render_config
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.evaluation.judge import read_labelled_cases
from knotwork._extensions.evaluation.questions import read_answer_questions, read_cases
from knotwork._extensions.graphs.graph_import.graph_importer import import_graph
from knotwork._extensions.graphs.recorded_extractor import Recording
from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema
from knotwork._extensions.paths.path_ranking import read_trees
from knotwork._extensions.patterns.ontology import load_ontology
from knotwork._extensions.queries.cypher_templates import read_templates
from knotwork._extensions.schemas.discovery import schema_of_examples
from knotwork._extensions.server.job_store import JobStore
from knotwork._extensions.server.keys import KeyFile, KeyRole
from knotwork._inference.call_cache import CallCache
from knotwork._stores.urls import open_store
from knotwork._transform.rules.dictionary import Dictionary
from knotwork.records import Document

Reader = Callable[[Path], object]


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="knotwork-fuzz-"))


def _reading(name: str, read: Reader) -> Callable[[bytes], None]:
    """Return a function that writes its input to a new folder, and has it read."""

    def run(data: bytes) -> None:
        with tempfile.TemporaryDirectory(dir=_folder()) as folder:
            path = Path(folder, name)
            path.write_bytes(data)
            read(path)

    return run


_TOML_WORDS = [
    word.encode()
    for word in (
        *(
            "[index]\n",
            "[[follow]]\n",
            "[[template]]\n",
            "[llm]\n",
            "key = ",
            "= 1\n",
            "= []\n",
            "= {}",
        ),
        *(
            '= "x"\n',
            "= true\n",
            "= 1979-05-27\n",
            "= inf\n",
            "= nan\n",
            "= -1\n",
            "= 1e400\n",
            '"""',
        ),
        *(
            "from = ",
            "to = ",
            "relations = ",
            '["a", 1]',
            "{ env = 'HOME' }",
            "a.b.c = 1\n",
            "[a.b]\n",
        ),
        *(
            "entity_types = ",
            "patterns = ",
            "strict = ",
            "statement = ",
            "slots = ",
            "max_file_mb = ",
        ),
    )
]
_SCHEMA = b'entity_types = ["PERSON", "PLACE"]\nrelation_types = ["lives in"]\nstrict = false\n'
_TEMPLATES = (
    b'[[template]]\nname = "a"\ndescription = "films of a person"\n'
    b'statement = "MATCH (n {name: $who}) RETURN n"\nquestions = ["Which films?"]\n'
    b'[template.slots.who]\nkind = "Person"\nproperty = "name"\n'
)
_ONTOLOGY = (
    b'rest = 0.5\n[[follow]]\nfrom = ["PERSON"]\nto = ["FILM"]\nrelations = ["direct"]\n'
    b'direction = "both"\nweight = 0.5\n[[ask]]\nwords = ["who"]\ntypes = ["PERSON"]\n'
)
_LABELS = (
    b'{"id": "a", "question": "Who?", "answer": "Ada.", "answered": true, "passages": ["Ada."], '
    b'"answers": [["Ada"]], "labels": {"faithfulness": 1, "context_recall": null}}\n'
)
_QUESTIONS = (
    b'{"id": "a", "question": "Who?", "answers": ["Ada"], "evidence": [["a.md", "x"]]}\n'
    b'{"question": "When?", "answers": [["1815", "1816"]]}\n{"question": "Why?", "answers": []}\n'
)
_CASES = b'{"qid": "1", "question": "Who?", "gold_pids": ["a.md"], "type": "x", "answers": ["b"]}\n'
_TABLE = b"question,answer,evidence\nWho?,Ada|Ada L.,a.md\nWhen?,1815,\n"
_EXAMPLES = b"source,source type,relation,target,target type\nAda,PERSON,wrote,Notes,WORK\n"
_JSON_EXAMPLES = b'{"source": "Ada", "source type": "PERSON", "relation": "wrote", "target": "N"}\n'
_RECORDING = (
    b'{"document": "a.md", "entities": [{"name": "Ada", "type": "P"}], '
    b'"triples": [["Ada", "wrote", "Notes"]]}\n'
)
_JSON_WORDS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"null",
    b"1e999",
    b'"question"',
    b"\n",
    b"[[]]",
)
_TABLE_WORDS = (
    b",",
    b";",
    b"\t",
    b'"',
    b"\n",
    b"|",
    b"source",
    b"id",
    b":START_ID",
    b"a.id",
    b"#",
    b"sep=;",
)
_XML_WORDS = (
    *(
        b"<node id='a'/>",
        b"<edge source='a' target='b'/>",
        b"<data key='k'>",
        b"<key id='k'",
        b"</",
    ),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"attr.type='int'", b"<graph>", b"<hyperedge>", b"&b;"),
)
_GRAPHML = (
    b"<graphml xmlns='http://graphml.graphdrawing.org/xmlns'><key id='k' for='node' attr.name='n' "
    b"attr.type='string'/><graph edgedefault='directed'><node id='a'><data key='k'>A</data></node>"
    b"<node id='b'/><edge source='a' target='b'/></graph></graphml>"
)
_TURTLE_WORDS = (
    b"@prefix a: <b> .",
    b"<a>",
    b"_:b",
    b'"x"@en',
    b"^^",
    b".",
    b";",
    b",",
    b"[ ]",
    b"( )",
    b'"""',
)


def _rank_paths(path: Path) -> None:
    trees = read_trees(path)
    trees.predict(np.zeros((2, len(trees.features))))


def _import(path: Path) -> None:
    store = open_store("memory:")
    with contextlib.closing(store):
        import_graph(store, [path])


@cache
def _index() -> bytes:
    """Return an index of two documents as the bytes of its file."""
    path = _folder() / "sound.knot"
    with knotwork.open(path, embedding_model="none") as base:
        base.index_documents(
            [
                Document("a.md", "# Ada\n\nAda Lovelace wrote notes. She lived in London.", "A"),
                Document("b.md", "# Bab\n\nCharles Babbage knew Ada Lovelace in London.", "B"),
            ]
        )
        base.communities.update()
    return path.read_bytes()


def _use_index(path: Path) -> None:
    with knotwork.open(path, read_only=True, embedding_model="none") as base:
        base.stats()
        base.search("Who wrote notes in London?")
        base.ask("Where did Ada Lovelace live?")
        base.graph.cypher("MATCH (n)-[r]->(m) RETURN n, r, m LIMIT 20")
        base.communities.list()


@cache
def _calls() -> bytes:
    path = _folder() / "sound.calls"
    CallCache(path).close()
    return path.read_bytes()


def _use_calls(path: Path) -> None:
    with contextlib.closing(CallCache(path, busy_timeout_s=0.1)) as cache_file:
        cache_file.reply_count()
        cache_file.total()
        cache_file.check()


@cache
def _jobs() -> bytes:
    path = _folder() / "sound.db"
    store = JobStore.open(path)
    store.add("default", "index", {"folder": "x"})
    store.close()
    return path.read_bytes()


def _use_jobs(path: Path) -> None:
    with contextlib.closing(JobStore.open(path)) as store:
        store.open_jobs()
        store.add("default", "index", {"folder": "y"})


@cache
def _facts() -> bytes:
    path = _folder() / "sound.memory"
    with contextlib.closing(FactMemory(path)) as memory:
        memory.learn(RememberedFact("Ada", "lives in", "London", "2024-01-01"))
    return path.read_bytes()


def _use_facts(path: Path) -> None:
    with contextlib.closing(FactMemory(path)) as memory:
        memory.facts()
        memory.about(["Ada"])
        memory.learn(RememberedFact("Ada", "lives in", "Rome", "2024-02-01"))
        memory.forget("Ada")


@cache
def _keys() -> bytes:
    path = _folder() / "keys.json"
    keys = KeyFile(path)
    keys.add("laptop", role=KeyRole.READ, workspaces=["a"])
    return path.read_bytes()


def _use_keys(path: Path) -> None:
    keys = KeyFile(path)
    keys.listed()
    keys.find("kw_x_y")


def _read_question_lines(path: Path) -> None:
    read_cases(path.read_text("utf-8", "replace").splitlines(keepends=True), name=path.name)


def targets() -> Iterator[Target]:
    """Yield a target for each kind of file."""
    settings = render_config().replace("# ", "").encode()
    texts: dict[str, tuple[str, Reader, list[bytes], list[bytes] | tuple[bytes, ...]]] = {
        "settings": (
            "knotwork.toml",
            lambda path: load_settings(file=path, environ={}),
            [settings, b"[index]\nmax_file_mb = 5\n[llm]\nmodel = 'none'\n"],
            _TOML_WORDS,
        ),
        "schema": ("schema.toml", ExtractionSchema.read, [_SCHEMA], _TOML_WORDS),
        "ontology": ("ontology.toml", load_ontology, [_ONTOLOGY], _TOML_WORDS),
        "templates": ("templates.toml", read_templates, [_TEMPLATES], _TOML_WORDS),
        "dictionary": (
            "terms.tsv",
            Dictionary.read,
            [b"Ada Lovelace\tPERSON\tAda|Countess\n# note\nLondon\tPLACE\n"],
            _TABLE_WORDS,
        ),
        "dictionary-toml": (
            "terms.toml",
            Dictionary.read,
            [b'[[term]]\nname = "Ada"\ntype = "PERSON"\naliases = ["A"]\n'],
            _TOML_WORDS,
        ),
        "questions-json": ("q.jsonl", read_answer_questions, [_QUESTIONS], _JSON_WORDS),
        "labels": ("labels.jsonl", read_labelled_cases, [_LABELS], _JSON_WORDS),
        "questions-table": ("q.csv", read_answer_questions, [_TABLE], _TABLE_WORDS),
        "cases": ("questions.jsonl", _read_question_lines, [_CASES], _JSON_WORDS),
        "examples-table": ("e.csv", schema_of_examples, [_EXAMPLES], _TABLE_WORDS),
        "examples-json": ("e.jsonl", schema_of_examples, [_JSON_EXAMPLES], _JSON_WORDS),
        "recording": ("r.jsonl", Recording.read, [_RECORDING], _JSON_WORDS),
        "path-model": (
            "trees.model",
            _rank_paths,
            [_trees()],
            (b"tree", b"=", b" ", b"\n", b"-1", b"1e999", b"num_leaves=2"),
        ),
        "graph-table": (
            "g.csv",
            _import,
            [b"source,relation,target,since\nAda,knows,Bab,1833\n", b":ID,name\n1,Ada\n"],
            _TABLE_WORDS,
        ),
        "graph-graphml": ("g.graphml", _import, [_GRAPHML], _XML_WORDS),
        "graph-turtle": (
            "g.ttl",
            _import,
            [b"@prefix a: <http://b/> .\na:x a:y a:z, 'q' .\n"],
            _TURTLE_WORDS,
        ),
        "graph-ntriples": (
            "g.nt",
            _import,
            [b"<http://a> <http://b> <http://c> .\n"],
            _TURTLE_WORDS,
        ),
        "keys": ("keys.json", _use_keys, [_keys()], _JSON_WORDS),
    }
    for name, (file, read, seeds, words) in texts.items():
        inputs = damaged(seeds, words)
        if name in {"settings", "schema", "ontology", "templates"}:
            inputs = st.one_of(inputs, loose([word.decode() for word in words], most=15))
        yield Target(f"file-{name}", inputs, _reading(file, read), examples=10)
    databases: dict[str, tuple[str, Reader, bytes]] = {
        "index": ("i.knot", _use_index, _index()),
        "calls": ("i.calls", _use_calls, _calls()),
        "jobs": ("jobs.db", _use_jobs, _jobs()),
        "facts": ("i.memory", _use_facts, _facts()),
    }
    for name, (file, read, seed) in databases.items():
        yield Target(
            f"file-{name}", damaged([seed]), _reading(file, read), seconds=20.0, examples=6
        )


def _trees() -> bytes:
    from importlib.resources import files

    return (files("knotwork._extensions.paths") / "data" / "relation_paths.model").read_bytes()[
        :20_000
    ]
