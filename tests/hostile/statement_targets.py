"""Statements, filters, specifications and questions of strangers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from tests.cypher.graphs import PEOPLE
from tests.cypher.hostile import bombs, reaching_out, writes
from tests.hostile.mutations import damaged, decoded, encoded, loose
from tests.hostile.targets import Target

import knotwork
from knotwork._extensions.cypher.language import Limits, run_statement
from knotwork._extensions.cypher.language.functions import FUNCTIONS as CYPHER_FUNCTIONS
from knotwork._extensions.tables.table_file import TableFile
from knotwork._extensions.tables.tables import add_tables
from knotwork._extensions.testing.store_contract import add_document
from knotwork._questions.languages import find_stated_filter
from knotwork._retrieval.filters import parse_filter, read_filter
from knotwork._retrieval.retriever_registry import (
    RETRIEVERS,
    STEPS,
    build_retriever,
    parse_specification,
    show_specification,
)
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.records import Document, Query

_TIMEOUT_S = 1.0
_names = st.sampled_from(["n", "m", "r", "x", "s", "`a b`", "p"])
_atoms = st.one_of(
    _names,
    st.sampled_from(["n.name", "n.age", "r.w", "$given", "$list", "null", "true", "[]", "{}", "*"]),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(repr),
    st.text(max_size=6).map(
        lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    ),
    st.sampled_from(["'a' * 5", "range(1, 100000)", "date('2024-02-30')", "duration('P9Y')"]),
)


def _larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(
        [
            "+",
            "-",
            "*",
            "/",
            "%",
            "^",
            "=",
            "<>",
            "<",
            ">=",
            "AND",
            "OR",
            "XOR",
            "IN",
            "=~",
            "STARTS WITH",
            "CONTAINS",
            "||",
        ]
    )
    return st.one_of(
        st.builds("({} {} {})".format, part, operators, part),
        st.builds("{}({})".format, st.sampled_from(sorted(CYPHER_FUNCTIONS)), part),
        st.builds("{}({}, {})".format, st.sampled_from(sorted(CYPHER_FUNCTIONS)), part, part),
        st.builds("{}[{}..{}]".format, part, part, part),
        st.builds("[{}, {}]".format, part, part),
        st.builds("{{a: {}}}.a".format, part),
        st.builds("[x IN {} WHERE {} | {}]".format, part, part, part),
        st.builds("reduce(s = {}, x IN {} | {})".format, part, part, part),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, part, part, part),
        st.builds("all(x IN {} WHERE {})".format, part, part),
        st.builds("NOT {}".format, part),
        st.builds("count({})".format, part),
        st.builds("EXISTS {{ MATCH (n)-[r]->(m) WHERE {} }}".format, part),
    )


_expressions = st.recursive(_atoms, _larger, max_leaves=12)
_patterns = st.sampled_from(
    [
        "(n)",
        "(n)-[r]->(m)",
        "(n:Person {name: 'Ada'})",
        "p = (n)-[r*1..4]-(m)",
        "(n)--(m)--(x)",
        "p = shortestPath((n)-[*]-(m))",
        "(n:Person|City)",
        "(n)-[r:KNOWS*]->(n)",
        "(n), (m), (x)",
    ]
)
_clauses = st.one_of(
    st.builds("MATCH {}".format, _patterns),
    st.builds("OPTIONAL MATCH {} WHERE {}".format, _patterns, _expressions),
    st.builds("MATCH {} WHERE {}".format, _patterns, _expressions),
    st.builds("UNWIND {} AS {}".format, _expressions, _names),
    st.builds("WITH {} AS {}".format, _expressions, _names),
    st.builds("WITH * WHERE {}".format, _expressions),
    st.builds("WITH DISTINCT {} AS x ORDER BY {} LIMIT 3".format, _expressions, _expressions),
    st.builds("CALL {{ MATCH (n) RETURN {} AS s }}".format, _expressions),
)
_statements = st.builds(
    lambda clauses, returned, end: " ".join([*clauses, "RETURN", returned, end]),
    st.lists(_clauses, max_size=4),
    _expressions,
    st.sampled_from(["", "AS x ORDER BY x", "SKIP 1 LIMIT 2", "UNION RETURN 1 AS x", "LIMIT -1"]),
)
_CYPHER_WORDS = (
    *[
        "MATCH",
        "OPTIONAL",
        "WHERE",
        "RETURN",
        "WITH",
        "UNWIND",
        "AS",
        "ORDER",
        "BY",
        "SKIP",
        "LIMIT",
        "UNION",
        "ALL",
        "CALL",
        "DISTINCT",
    ],
    *[
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "AND",
        "OR",
        "XOR",
        "NOT",
        "IN",
        "IS",
        "NULL",
        "STARTS",
        "ENDS",
        "CONTAINS",
        "EXISTS",
        "COUNT",
    ],
    *[
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "->",
        "<-",
        "-",
        "--",
        ":",
        "|",
        ",",
        ".",
        "..",
        "*",
        "+",
        "/",
        "%",
        "^",
        "=",
        "<>",
        "=~",
        "$given",
        "'a'",
        '"',
        "`",
        "//",
        "/*",
        "n",
        "m",
        "r",
    ],
)


def _run_cypher(data: bytes) -> None:
    limits = Limits(timeout_s=_TIMEOUT_S, rows=50)
    given = {"given": 1, "list": [1, "a", None]}
    run_statement(PEOPLE, decoded(data), given, limits=limits)  # type: ignore[arg-type]


_SQL_WORDS = (
    *[
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "BY",
        "HAVING",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "UNION",
        "ALL",
        "WITH",
        "RECURSIVE",
        "AS",
        "VALUES",
    ],
    *[
        "JOIN",
        "ON",
        "USING",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "GLOB",
        "REGEXP",
        "BETWEEN",
        "IS",
        "NULL",
        "EXISTS",
    ],
    *[
        "sales",
        "region",
        "amount",
        "day",
        "rowid",
        "_rowid_",
        "sqlite_schema",
        "pragma_table_list",
        "json_each(day)",
    ],
    *[
        "count(*)",
        "sum(amount)",
        "max(day)",
        "printf('%9999d',1)",
        "randomblob(9)",
        "zeroblob(99999999)",
    ],
    *[
        "group_concat(region)",
        "replace(region,'a','b')",
        "hex(region)",
        "char(0)",
        "load_extension('x')",
    ],
    *[
        "(",
        ")",
        ",",
        ";",
        "*",
        "+",
        "-",
        "/",
        "%",
        "||",
        "=",
        "<>",
        "<",
        ">",
        "'a'",
        '"b"',
        "[c]",
        "`d`",
        "1",
        "2.5",
        "x'00'",
        "?",
        "?1",
        ":a",
        "$given",
        "--",
        "/*",
        "*/",
    ],
    *[
        "ATTACH",
        "DETACH",
        "PRAGMA",
        "VACUUM",
        "INSERT",
        "INTO",
        "UPDATE",
        "SET",
        "DELETE",
        "DROP",
        "CREATE",
        "TABLE",
        "EXPLAIN",
    ],
)
_SQL_SEEDS = [
    statement.encode()
    for statement in (
        "SELECT region, sum(amount) FROM sales GROUP BY region ORDER BY 2 DESC LIMIT 5",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "SELECT a.region FROM sales a JOIN sales b ON a.day = b.day WHERE a.amount > $given",
        "SELECT group_concat(printf('%.*c', 100, 'x')) FROM sales, sales, sales",
        "SELECT json_group_array(json_object('a', amount)) FROM sales",
    )
]


@cache
def _tables() -> TableFile:
    folder = Path(tempfile.mkdtemp(prefix="knotwork-fuzz-"))
    source = folder / "sales.csv"
    rows = "\n".join(f"North {n},{n},2024-01-{n:02}" for n in range(1, 29))
    source.write_text(f"Region,Amount,Day\n{rows}\n", "utf-8")
    tables = TableFile(folder / "tables")
    add_tables(tables, source)
    return tables


def _run_sql(data: bytes) -> None:
    _tables().run(decoded(data), {"given": 1}, row_limit=50, timeout_s=_TIMEOUT_S)


_FILTER_WORDS = (
    *[
        "title",
        "uri",
        "folder",
        "language",
        "type",
        "date",
        "metadata.year",
        "author",
        "tag",
        "AND",
        "OR",
        "NOT",
        "and",
        "or",
        "not",
        "in",
    ],
    *[
        "(",
        ")",
        "=",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "~",
        ":",
        ",",
        "*",
        "'a",
        "b'",
        '"c"',
        "2024",
        "2024-05-01",
        ">=2024",
        "exists",
        "path/**",
        "[",
        "]",
    ],
)


def _run_filter(data: bytes) -> None:
    text = decoded(data)
    read = parse_filter(text)
    assert str(parse_filter(str(read))) == str(read)
    read_filter(text)


def _find_filters(data: bytes) -> None:
    from datetime import date

    find_stated_filter(decoded(data), today=date(2024, 5, 1))


_STATED = (
    *("since 2023", "before May 2024", "in version 3.2", "last year", "between 1 and 3", "after"),
    *(
        "2024-13-45",
        "31 February 2023",
        "the 99th",
        "v1.2.3.4",
        "2023年5月之前",
        "第3版",
        "去年",
        "以来",
    ),
    *(
        "yesterday",
        "in the last 999999999 days",
        "0000-00-00",
        "Q5 2024",
        "of",
        "from",
        "to",
        "until",
    ),
)


@cache
def _store() -> Store:
    store = open_store("memory:")
    add_document(store, "a.md", ["Ada Lovelace", "Charles Babbage"], link=True)
    return store


def _run_specification(data: bytes) -> None:
    text = decoded(data)
    tree = parse_specification(text)
    shown = show_specification(tree)
    assert show_specification(parse_specification(shown)) == shown
    build_retriever(text, store=_store(), embedder=None).retrieve(Query("Who was Ada Lovelace?"))


_SPECIFICATION_WORDS = (
    *(*RETRIEVERS.names(), *STEPS.names()),
    *("+", ">", "*", "(", ")", ",", "=", "2", "0.5", "k=3", "share=0.5", "by=rank", "'a'", "true"),
    *("bm25", "graph", "prune", "fuse", "bm25 + graph", "bm25 > prune", "1e308", "-1", "k=0"),
)


@cache
def _knowledge_base() -> knotwork.KnowledgeBase:
    base = knotwork.open("memory:", embedding_model="none")
    base.index_documents(
        [
            Document(
                "a.md", "# Ada\n\nAda Lovelace was born in London in 1815. She knew Bab.", "A"
            ),
            Document("b.md", "# 北京\n\n北京大学位于北京。蔡元培曾任校长。", "B"),
        ]
    )
    return base


def _ask(data: bytes) -> None:
    _knowledge_base().ask(decoded(data)[:20_000])


_QUESTION_WORDS = (
    *("Who", "When was", "What is", "How many", "Which", "compare", "Ada Lovelace", "London", "?"),
    *("and", "or", "not", "since 2020", "the first", "step by step", "summarize", "all documents"),
    *(
        "是谁",
        "什么时候",
        "多少",
        "北京大学",
        "蔡元培",
        "？",
        "总结",
        "第一步",
        '"',
        "(",
        ")",
        "1815",
        "*",
    ),
)


def targets() -> Iterator[Target]:
    """Yield a target for each language."""
    seeds = [text.encode() for text in (*writes()[:40], *reaching_out()[:40], *bombs()[:40])]
    cypher = st.one_of(
        encoded(_statements), encoded(_statements), loose(_CYPHER_WORDS), damaged(seeds)
    )
    yield Target("cypher", cypher, _run_cypher, seconds=10.0, megabytes=500, examples=60)
    sql = st.one_of(loose(_SQL_WORDS), damaged(_SQL_SEEDS, [word.encode() for word in _SQL_WORDS]))
    yield Target("sql", sql, _run_sql, seconds=10.0, megabytes=500, examples=60)
    yield Target("filters", loose(_FILTER_WORDS), _run_filter, examples=60)
    yield Target("stated-filters", loose(_STATED), _find_filters, errors=(), examples=10)
    yield Target(
        "specifications", loose(_SPECIFICATION_WORDS, most=12), _run_specification, examples=30
    )
    yield Target("questions", loose(_QUESTION_WORDS, most=20), _ask, seconds=20.0, examples=10)
