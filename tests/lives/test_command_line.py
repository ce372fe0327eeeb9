"""What the commands print as JSON, to people, and their exit codes."""

import json

import pytest
from tests.lives.door import command_line, golden

from knotwork import __version__

pytestmark = pytest.mark.slow

QUESTION = "Who approves trips abroad?"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ask", ("ask", QUESTION, "--explain")),
        ("ask-zh", ("ask", "海外出差由谁审批？")),
        ("ask-table", ("ask", "Who manages Petra Oyelund?")),
        ("ask-refused", ("ask", "Who is the mayor of Corvane?")),
        ("ask-overview", ("ask", "Summarize travel-policy.docx")),
        ("search", ("search", QUESTION, "-k", "3", "--explain")),
        ("search-paths", ("search", "Where was Oriane Keld born?", "-k", "2",
                          "--retriever", "paths")),
        ("search-rows", ("search", "salt", "-k", "2", "--retriever", "bm25",
                         "--retrieval-query", "RETURN node.name AS name, score")),
        ("agent", ("agent", "Where was Oriane Keld born?", "--steps", "2")),
        ("explore", ("explore", "Oriane Keld", "--depth", "1")),
        ("cypher", ("cypher", ("MATCH (a:Entity {name: 'Oriane Keld'})-[r:RELATES]->(b) "
                              "RETURN b.name AS name, r.relation AS relation ORDER BY name"))),
        ("communities", ("communities", "--limit", "2")),
        ("graph-stats", ("graph", "stats")),
        ("graph-names", ("graph", "names")),
        ("graph-paths", ("graph", "shortest-paths", "Petra Oyelund", "Tarnby")),
        ("graph-links", ("graph", "links", "papers/en/about-selkwood.md")),
        ("graph-conflicts", ("graph", "conflicts")),
        ("documents", ("documents",)),
        ("tables", ("tables", "list")),
        ("tables-query", ("tables", "query", "SELECT name FROM staff WHERE site = 'Skarrow'")),
    ],
)  # fmt: skip
def test_a_command_prints_the_object_that_it_always_printed(cli, name, line):
    outcome = cli(*line, "--json")
    assert outcome.code == 0, outcome.err
    golden(f"cli-{name}", outcome.json)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("fields", ("documents", "--fields")),
        ("retrievers", ("retrievers",)),
        ("prompts", ("prompts", "list")),
        ("doctor", ("doctor",)),
        ("schema", ("schema", "propose", "--no-model", "-o", "schema.toml")),
    ],
)
def test_a_command_prints_an_object_of_its_shape(cli, name, line):
    outcome = cli(*line, "--json")
    assert outcome.code == 0, outcome.err + outcome.out
    found = outcome.json
    if name == "doctor":
        assert found["ok"]
        found = {"checks": found["checks"]}
    if name == "retrievers":  # those of other tests are left out
        ours = found["retrievers"].items()
        found["retrievers"] = {key: r for key, r in ours if r["distribution"] == "knotwork"}
    golden(f"cli-{name}", found, shape=True)


def test_indexing_prints_its_counts_and_its_progress(own_papers, own_cli):
    (own_papers / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    line = ("index", own_papers, "--store", "new.knot", "--json")
    outcome = own_cli(*line, "--progress", "json")
    assert outcome.code == 0
    golden("cli-index", outcome.json)
    steps = [json.loads(text) for text in outcome.err.splitlines()]
    assert steps[-1]["event"] == "finished"
    assert [step["event"] for step in steps].count("added") == 4
    assert own_cli(*line).json["unchanged"] == 4
    gone = own_cli("delete", "papers/zh/温青岚.txt", "--store", "new.knot", "--json").json
    assert gone == {"removed": ["papers/zh/温青岚.txt"]}


def test_upkeep_prints_its_objects(own_cli, own_index):
    golden("cli-backup", own_cli("backup", own_index, "today", "--json").json, shape=True)
    golden("cli-restore", own_cli("restore", "today", "back.knot", "--json").json, shape=True)
    golden("cli-copy", own_cli("copy", own_index, "moved.knot", "--json").json, shape=True)
    golden("cli-repair", own_cli("repair", "moved.knot", "--json").json, shape=True)
    golden("cli-wiki", own_cli("export", "wiki", "wiki", "--json").json, shape=True)
    embedded = own_cli("embed", "--model", "hashing:32", "--json").json
    golden("cli-embed", embedded, shape=True)
    assert embedded["embedder"] == "hashing:32"


def test_settings_come_from_a_file_the_environment_and_the_line(own_cli, tmp_path):
    (tmp_path / "knotwork.toml").write_text("[retrieval]\nretriever = 'bm25'\n")
    settings = own_cli("config", "show", "--json", "--set", "answer.max_sentences=3").json[
        "settings"
    ]
    assert settings["retrieval.retriever"]["value"] == "bm25"
    assert settings["embedding.model"]["value"] == "hashing:64"
    assert settings["answer.max_sentences"]["value"] == 3
    origins = {settings[name]["origin"] for name in
               ("retrieval.retriever", "embedding.model", "answer.max_sentences")}  # fmt: skip
    assert len(origins) == 3
    assert own_cli("search", QUESTION, "--json").json["retriever"] == "bm25"


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        (("ask",), 2, "usage_error"),
        (("ask", QUESTION, "--store", "none.knot"), 2, "store_not_found"),
        (("ask", QUESTION, "--set", "answer.nothing=1"), 2, ""),
        (("search", QUESTION, "--retriever", "bm26"), 2, "unknown_name"),
        (("search", QUESTION, "--where", "autor = Ann"), 2, ""),
        (("explore", "Oriane Kel"), 2, "unknown_name"),
        (("cypher", "CREATE (n)"), 2, "query_refused"),
        (("delete", "nothing.txt"), 2, ""),
        (("frobnicate",), 2, "unknown_name"),
    ],
)
def test_a_mistake_is_an_object_with_a_code_and_an_exit_code(own_cli, line, code, error):
    outcome = own_cli(*line, "--json")
    assert outcome.json["error"]["message"]
    assert not error or outcome.json["error"]["code"] == error
    assert outcome.code == code


def test_people_read_answers_with_numbered_sources(cli):
    outcome = cli("ask", QUESTION)
    answer, sources = outcome.out.split("\n\nSources\n")
    assert "Travel Office" in answer
    assert sources.startswith("[1] papers/en/travel-policy.docx")
    assert "confidence" in outcome.err.lower() or "strong" in outcome.out + outcome.err
    found = cli("search", QUESTION, "-k", "1").out
    assert "papers/en/travel-policy.docx" in found
    assert "Ilse Tarrant" in cli("explore", "Oriane Keld").out
    assert "温青岚" in cli("ask", "谁创办了望汐办事处？").out


def test_the_demo_shows_an_answer_over_two_pages_a_chinese_one_and_a_refusal():
    outcome = command_line("demo", "--set", "embedding.model=none")
    assert outcome.code == 0, outcome.err
    for words in ("Tarnby", "办事处主任", "mayor of Corvane"):
        assert words in outcome.out


def test_versions_helps_and_completions_are_printed(cli):
    assert __version__ in cli("--version").out
    assert "knotwork index" in cli("--help").out
    assert "complet" in cli("completion", "bash").out
    golden("cli-commands", sorted(
        line.split()[0] for line in cli("--help").out.splitlines()
        if line.startswith("  ") and line[2:3].isalpha() and line[2:3].islower()
    ))  # fmt: skip


def test_graphs_and_names_print_their_objects(own_cli, tmp_path):
    (tmp_path / "films.tsv").write_text("Faust\tdirected_by\tWilliam Dieterle\nnothing here\n")
    golden("cli-graph-import", own_cli("graph", "import", "films.tsv", "--json").json)
    assert own_cli("graph", "import", "films.tsv", "--json").json["unchanged"]
    golden("cli-graph-merge", own_cli("graph", "merge", "Wen Qinglan", "温青岚", "--json").json)
    golden("cli-graph-split", own_cli("graph", "split", "Wen Qinglan", "温青岚", "--json").json)
    told = own_cli("graph", "export", "--format", "graphrag", "-o", "out", "--json").json
    golden("cli-graph-export", told)
    told = own_cli("import", "out", "--name", "back", "--store", "new.knot", "--json").json
    golden("cli-import", told)
    (tmp_path / "sales.csv").write_text("city,amount\nLund,3\n")
    golden("cli-tables-add", own_cli("tables", "add", "sales.csv", "--json").json, shape=True)


def test_keys_are_added_listed_and_removed(tmp_path):
    place = ("--place", tmp_path, "--json")
    made = command_line("keys", "add", "bot", "-w", "papers", *place).json
    assert made["key"].startswith("kw_")
    (listed,) = command_line("keys", "list", *place).json["keys"]
    assert (listed["name"], listed["role"]) == ("bot", "read")
    assert made["key"] not in json.dumps(listed)
    assert command_line("keys", "remove", "bot", *place).code == 0
    assert command_line("keys", "list", *place).json == {"keys": []}


def test_each_setting_is_listed_by_its_name(cli):
    settings = cli("config", "show", "--json").json["settings"]
    golden("cli-settings", sorted(settings))
