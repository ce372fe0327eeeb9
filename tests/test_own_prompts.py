"""Prompts of the user's own, in every call of indexing, questions, agents and judging."""

import re
import tomllib

import pytest
from benchmarks.judging.word_judge import word_judge
from tests.indexing.office_files import small_picture

import knotwork
from knotwork._extensions.evaluation.judge import ask_judge
from knotwork._extensions.prompts.folder import built_in_prompts, copy_built_in
from knotwork._extensions.queries.cypher_templates import CypherTemplatesRetriever, Template
from knotwork._extensions.schemas.index_proposals import propose_for_index
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.loaders.loader import can_recognise
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.own_prompts import read_prompt_folder
from knotwork._shapes.indexing import describe_report
from knotwork._synthesis.engine import choose_mode_with_model, find_keywords
from knotwork.agents import Chat, ask_agent
from knotwork.demo import open_sample
from knotwork.errors import ConfigError, UnknownName
from knotwork.evaluation import JudgeCase, judge
from knotwork.records import Query
from knotwork.testing import ScriptedChatModel
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow

MARK = "OWN PROMPT"
TASKS = ("graph", "triplets", "glean", "check", "propose", "oneke_graph")


@pytest.fixture
def server():
    with ModelTestServer(sees=True) as server:
        yield server


@pytest.fixture
def folder(tmp_path):
    """A folder with all prompts, each of which says which it is."""
    own = tmp_path / "prompts"
    own.mkdir()
    for prompt in built_in_prompts():
        mark = f"{MARK} {prompt.name}.{prompt.language}."
        if prompt.name == "extraction":
            parts = tomllib.loads(prompt.text)
            text = "\n".join(f"{key} = '''{parts[key].strip()}\n{mark}'''" for key in TASKS)
        else:
            system, line, user = prompt.text.partition("\n---\n")
            text = f"{system}\n{mark}{line}{user}"
        (own / prompt.file).write_text(text, encoding="utf-8")
    return own


@pytest.fixture
def opened(tmp_path, server, folder):
    """Open the index with a model on the server and prompts of one's own; close it at the end."""
    bases = []

    def open_with(**settings):
        kb = knotwork.open(
            tmp_path / "index.knot",
            embedding_model="none",
            llm_model="openai:brain",
            llm_base_url=server.url,
            **{"prompts_dir": str(folder), **settings},
        )
        bases.append(kb)
        return kb

    yield open_with
    for kb in bases:
        kb.close()


def sent(server):
    """Return the texts of all requests that the server got."""
    return [
        "\n".join(_text(message["content"]) for message in call.body["messages"])
        for call in server.traffic.calls
    ]


def _text(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def marks(server):
    """Return the names of the prompts that were used."""
    return {name for text in sent(server) for name in re.findall(rf"{MARK} ([\w-]+)\.", text)}


@pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
def test_every_request_is_made_of_them(server, opened, tmp_path):
    kb = opened(
        llm_tier="full",
        index_questions="model",
        index_pictures="model",
        extraction_gleanings=1,
        extraction_check_relations=True,
    )
    with open_sample() as sample:
        kb.index(sample)
    (tmp_path / "pump.png").write_bytes(small_picture())
    kb.index(tmp_path / "pump.png")
    turns = [("Who is Oriane Keld?", "She is an engineer.")]
    kb.ask("Where did she work?", turns=turns)
    for mode in ("basic", "local", "global", "map-reduce", "hybrid", "drift"):
        kb.ask("What are the main themes of these documents?", mode=mode)
    for retriever in (
        "rewrite(by=model) > bm25", "expand(by=model) > bm25", "hyde(by=model) > bm25",
        "decompose(by=model) > bm25", "bm25 > rerank(by=model)", "text_to_cypher", "dynamic_cypher",
    ):  # fmt: skip
        kb.search("Where was the designer of the Kestrel probe born?", retriever=retriever)
    for kind in ("iterative", "reasoning", "revising"):
        ask_agent(kb, "Who designed the Kestrel probe?", kind=kind)
    with Chat(kb) as chat:
        chat.say("Since 2023 the Bergen office has been run by Ina.")
        chat.say("Remember that Oriane Keld lives in Bergen.")
        chat.say("Where does Oriane Keld live?")
    propose_for_index(kb.store, kb.settings)
    assert [text for text in sent(server) if MARK not in text] == []
    every = {prompt.name for prompt in built_in_prompts()}
    elsewhere = {name for name in every if name.startswith("judge-")} - {"judge-pairs"}
    assert marks(server) == every - elsewhere - {"route", "template"}


def own_model(folder, reply):
    """Return a cached model that carries the prompts of a folder, and the model inside it."""
    inner = ScriptedChatModel(reply)
    cache = CallCache(":memory:")
    return CachedChatModel(inner, cache, prompts=read_prompt_folder(folder)), inner


def test_a_judge_asks_with_them(folder):
    case = JudgeCase("a", "Who wrote it?", "Ina did.", ("Ina wrote it.",), (("Ina",),))
    brain = word_judge()
    model, inner = own_model(folder, lambda request: brain.complete(request).text)
    judge(model, [case], embedder=HashingEmbedder(8))
    ask_judge("refusal", "Who?", answer="Nobody.", prompts=model.prompts).send(model)
    assert all(MARK in "".join(m.content for m in r.messages) for r in inner.requests)
    assert len(inner.requests) == 7


@pytest.mark.parametrize(
    ("ask", "reply"), [(find_keywords, "Kestrel"), (choose_mode_with_model, "local")]
)
def test_keywords_and_modes_are_asked_for_with_them(folder, ask, reply):
    model, inner = own_model(folder, [reply])
    ask("Who designed the Kestrel probe?", model)
    assert MARK in inner.requests[0].messages[0].content


def test_a_template_is_chosen_with_them(folder):
    template = Template("all", "MATCH (e:Entity) RETURN e.name AS name", "the entities")
    model, inner = own_model(folder, lambda _request: "1")
    options = CypherTemplatesRetriever.Options(templates=[template])
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index_documents([document(TEXT)])
        retriever = CypherTemplatesRetriever(store=kb.store, options=options, model=model)
        retriever.retrieve(Query("Which are the entities?"))
    assert MARK in inner.requests[0].messages[0].content


def document(text):
    return knotwork.Document("a.txt", text)


TEXT = "Ada Smith founded Acme London in 1900. Bob Jones led Acme London from Vienna."


def indexed(opened, server, **settings):
    """Index a document, and return the report and the stages of the calls that were made."""
    before = len(server.traffic.calls)
    with opened(llm_tier="full", **settings) as kb:
        report = kb.index_documents([document(TEXT)])
    return report, len(server.traffic.calls) - before


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")


def test_a_change_of_the_extraction_prompt_reads_again(opened, server, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    settings = {"prompts_dir": str(own)}
    report, calls = indexed(opened, server, **settings)
    assert calls > 0
    copy_built_in(own)  # equal prompts change nothing
    write(
        own, "answer.en.txt", "Say {unknown}.\n---\n{question}{context}"
    )  # nor do those of answers
    report, calls = indexed(opened, server, **settings)
    assert (report.unchanged, calls) == (1, 0)
    assert report.prompts.files == ("answer.en.txt",)
    text = (own / "extraction.en.toml").read_text("utf-8")
    write(
        own,
        "extraction.en.toml",
        text.replace("List the", "Write down the").replace("list the", "write down the"),
    )
    report, calls = indexed(opened, server, **settings)
    assert (report.changed, calls > 0) == (1, True)
    assert any("write down the" in text for text in sent(server))
    assert indexed(opened, server, **settings)[1] == 0
    assert indexed(opened, server, prompts_dir="")[0].changed == 1


def test_a_change_of_the_question_prompt_writes_questions_again(opened, server, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    settings = {"prompts_dir": str(own), "index_questions": "model"}
    indexed(opened, server, **settings)
    assert indexed(opened, server, **settings)[1] == 0
    (prompt,) = [p for p in built_in_prompts() if p.file == "write-questions.en.txt"]
    write(own, prompt.file, prompt.text.replace("\n---\n", "\nBe brief.\n---\n"))
    report, calls = indexed(opened, server, **settings)
    assert (report.changed, calls) == (1, 1)


def test_a_change_of_the_report_prompt_writes_reports_again(opened, server, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (prompt,) = [p for p in built_in_prompts() if p.file == "report-community.en.txt"]
    with open_sample() as sample:

        def reports(**settings):
            with opened(llm_tier="full", prompts_dir=str(own), **settings) as kb:
                done = kb.index(sample).enrichment.reports
                return done.by_model if done else 0

        first = reports()
        assert first > 0
        assert reports() == 0
        write(own, prompt.file, prompt.text.replace("\n---\n", "\nBe brief.\n---\n"))
        assert reports() > 0
        assert reports() == 0
        assert any("Be brief." in text for text in sent(server))


def test_a_report_names_the_version(opened, server, folder):
    report, _ = indexed(opened, server)
    shape = describe_report(report)["prompts"]
    assert shape["version"] == report.prompts.version
    assert len(shape["version"]) == 8
    assert str(folder) not in str(shape)  # users of a server get it too
    assert "answer.en.txt" in shape["files"]
    assert "prompts" not in describe_report(indexed(opened, server, prompts_dir="")[0])


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [("answr.en.txt", "x", UnknownName), ("answer.en.txt", "x {y}\n---\nz", ConfigError)],
)
def test_faults_are_reported_when_an_index_is_opened(opened, tmp_path, folder, name, text, error):
    write(folder, name, text)
    with pytest.raises(error, match=name):
        opened()
    assert not (tmp_path / "index.knot").exists()
