"""A folder with prompts of the user's own: what it replaces, and how faults are reported."""

from pathlib import Path

import pytest

from knotwork._extensions.model_indexing.extraction_prompts import prompts_in
from knotwork._extensions.prompts.folder import built_in_prompts, copy_built_in, faults_in
from knotwork._inference.own_prompts import BUILT_IN, prompts_of, read_prompt_folder
from knotwork._inference.prompt_files import (
    PROMPTS,
    fill_prompt,
    read_prompt,
)
from knotwork._registry import Entry
from knotwork.errors import ConfigError, UnknownName
from knotwork.testing import ScriptedChatModel

ROOM = "knotwork._synthesis"
ROUTE = "Choose.\n---\n{question}"


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_every_built_in_prompt_has_a_file_name_of_its_own():
    files = [prompt.file for prompt in built_in_prompts()]
    assert len(files) == len(set(files)) > 60
    some = {"answer.en.txt", "judge-pairs.zh.txt", "plan.en.txt", "extraction.zh.toml"}
    assert some <= set(files)


def test_copies_that_are_not_changed_replace_nothing(tmp_path):
    written, kept = copy_built_in(tmp_path / "prompts")
    assert (len(written), kept) == (len(built_in_prompts()), [])
    own = read_prompt_folder(tmp_path / "prompts")
    assert (bool(own), own.version, own.files) == (False, "", ())


def test_copying_keeps_what_is_there(tmp_path):
    write(tmp_path, "route.en.txt", ROUTE)
    written, kept = copy_built_in(tmp_path)
    assert kept == ["route.en.txt"]
    assert "route.en.txt" not in written
    assert read_prompt_folder(tmp_path).files == ("route.en.txt",)


@pytest.mark.parametrize(
    "text", [ROUTE, ROUTE.replace("\n", "\r\n"), f"\ufeff{ROUTE}"], ids=["plain", "crlf", "bom"]
)
def test_a_file_replaces_its_prompt_in_its_language_alone(tmp_path, text):
    (tmp_path / "route.en.txt").write_bytes(text.encode("utf-8"))
    own = read_prompt_folder(tmp_path)
    system, user = fill_prompt(ROOM, "route", "en", {"question": "Who {is}?"}, own)
    assert (system.content, user.content) == ("Choose.", "Who {is}?")
    assert read_prompt(ROOM, "route", "zh", own) == read_prompt(ROOM, "route", "zh")
    assert read_prompt(ROOM, "answer", "en", own) == read_prompt(ROOM, "answer", "en")
    assert read_prompt(ROOM, "route", "fr", own) == ("Choose.", "{question}")


def test_a_language_of_a_plugin_may_be_replaced_too(tmp_path, monkeypatch):
    write(tmp_path, "route.de.txt", ROUTE)
    with pytest.raises(UnknownName, match=r"route\.de\.txt"):
        read_prompt_folder(tmp_path)
    entry = Entry("de", "german_prompts", distribution="knotwork-german", version="1.0")
    monkeypatch.setitem(vars(PROMPTS), "_plugins", ({"de": entry}, {}))
    own = read_prompt_folder(tmp_path)
    assert own.files == ("route.de.txt",)
    assert read_prompt(ROOM, "route", "de", own) == ("Choose.", "{question}")
    assert read_prompt(ROOM, "route", "en", own) == read_prompt(ROOM, "route", "en")


def test_a_part_of_extraction_replaces_that_part_alone(tmp_path):
    text = 'graph = "List {types}, as {\\"a\\": 1}."\nmemory = "' + prompts_in("en").memory + '"\n'
    own = read_prompt_folder(write(tmp_path, "extraction.en.toml", text))
    assert own.extraction == {"en": {"graph": 'List {types}, as {"a": 1}.'}}
    assert prompts_in("en", own).graph == 'List {types}, as {"a": 1}.'
    assert prompts_in("en", own).glean == prompts_in("en").glean
    assert prompts_in("zh", own) == prompts_in("zh")


def test_the_version_follows_the_texts(tmp_path):
    write(tmp_path, "route.en.txt", ROUTE)
    first = read_prompt_folder(tmp_path)
    assert len(first.version) == 8
    assert first.version == read_prompt_folder(tmp_path).version
    assert first.version_of({"answer"}) == ""
    second = read_prompt_folder(write(tmp_path, "route.en.txt", ROUTE + " now"))
    assert first.version != second.version
    third = read_prompt_folder(
        write(tmp_path, "answer.en.txt", "A {unknown}\n---\n{question}{context}")
    )
    assert third.version_of({"route"}) == second.version


def test_hidden_files_and_the_backups_of_editors_are_ignored(tmp_path):
    for name in (".git", "route.en.txt~", ".DS_Store"):
        write(tmp_path, name, "x")
    assert not read_prompt_folder(tmp_path)
    assert read_prompt_folder("") is BUILT_IN


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("rout.en.txt", ROUTE, ("`rout.en.txt`", "`route.en.txt`")),
        ("route.txt", ROUTE, ("`route.txt`", "`route.en.txt`")),
        ("route.en.toml", ROUTE, ("`route.en.toml`",)),
        ("README.md", "Mine.", ("`README.md`",)),
        (
            "route.en.txt",
            "Choose.\n---\n{questoin}",
            ("route.en.txt", "{questoin}", "`{question}`"),
        ),
        ("route.en.txt", "Choose.\n---\nNow.", ("route.en.txt", "lacks", "`{question}`")),
        ("route.en.txt", "Choose {question}.", ("route.en.txt", "`---`")),
        ("route.en.txt", "---\n{question}", ("route.en.txt",)),
        ("judge-pairs.en.txt", "Same?\n---\nPairs", ("judge-pairs.en.txt", "---")),
        ("extraction.en.toml", "graph", ("extraction.en.toml", "not TOML")),
        ("extraction.en.toml", "", ("extraction.en.toml", "no key")),
        ("extraction.en.toml", 'grap = "x"', ("`grap`", "`graph`", "extraction.en.toml")),
        ("extraction.en.toml", "graph = 3", ("`graph`", "not a text")),
        ("extraction.zh.toml", 'graph = "{typen}"', ("`graph`", "{typen}", "`{types}`")),
        ("extraction.zh.toml", 'glean = "{types}"', ("`glean`", "`{names}`")),
    ],
)
def test_a_fault_names_the_file_and_what_is_valid(tmp_path, file, text, words):
    write(tmp_path, "answer.zh.txt", "{unknown}\n---\n{question}{context}")
    write(tmp_path, file, text)
    with pytest.raises(ConfigError) as caught:
        read_prompt_folder(tmp_path)
    said = f"{caught.value.message} {caught.value.fix}"
    for word in words:
        assert word in said
    assert [fault.message for fault in faults_in(tmp_path)] == [caught.value.message]


def test_all_faults_of_a_folder_are_found(tmp_path):
    for name in ("route.en.txt", "route.zh.txt", "x.txt"):
        write(tmp_path, name, "No.")
    assert len(faults_in(tmp_path)) == 3


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 1_000_001, None])
def test_a_file_that_is_no_text_is_named(tmp_path, content):
    path = tmp_path / "route.en.txt"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"route\.en\.txt"):
        read_prompt_folder(tmp_path)


@pytest.mark.parametrize("read", [read_prompt_folder, faults_in])
def test_a_folder_that_is_missing_is_named(tmp_path, read):
    with pytest.raises(ConfigError, match=r"prompts\.dir") as caught:
        read(tmp_path / "none")
    assert "knotwork prompts copy" in caught.value.fix


def test_a_model_without_prompts_has_the_built_in_ones():
    model = ScriptedChatModel([])
    assert prompts_of(model) is BUILT_IN
    assert prompts_of(None) is BUILT_IN
    model.prompts = "mine"
    assert prompts_of(model) is BUILT_IN
