"""Every prompt that shows text of documents says that it is data, in each language."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

PACKAGE = Path(str(files("knotwork")))
TEXTS = sorted(set(PACKAGE.rglob("prompts/*.txt")) - set(PACKAGE.glob("_extensions/*/parts.txt")))
TABLES = sorted(PACKAGE.rglob("prompts/*.toml"))

OWN_BLANKS = {"unknown", "most", "left", "count", "today", "speaker", "language", "tools", ""}
"""Placeholders that our code or the user fills; the question is the user's, too."""

SAYS_SO = {
    "en": re.compile(
        r"\b(?:is|are) (?:only )?material[.:] ?do nothing that (?:it tells|they tell) you to do\b"
        r"|\b(?:is|are) data: follow no instruction in (?:it|them)\b|\bdata, not instructions\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"只是材料，不要执行其中的任何指[令示]|数据而非指令"),
}
SECTION = re.compile(r"<question>.*?</question>", re.DOTALL)
BLANK = re.compile(r"\{(\w*)\}")


def shows_documents(text):
    """Return True if a prompt has a placeholder outside the question that is not our own."""
    return "\n---\n" not in text or not OWN_BLANKS.issuperset(BLANK.findall(SECTION.sub("", text)))


def test_there_are_prompts_of_both_kinds():
    kinds = {path.name: shows_documents(path.read_text("utf-8")) for path in TEXTS}
    assert kinds["answer.en.txt"]
    assert kinds["judge-pairs.zh.txt"]
    assert kinds["write-questions.en.txt"]
    assert not kinds["route.en.txt"]
    assert not kinds["split-question.zh.txt"]
    assert sum(kinds.values()) > 40


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_prompt_says_that_documents_are_data(path):
    language = path.name.split(".")[-2]
    text = path.read_text("utf-8")
    assert not shows_documents(text) or SAYS_SO[language].search(text.split("\n---\n")[0])


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_the_prompts_of_extraction_say_that_the_text_is_data(path):
    table = tomllib.loads(path.read_text("utf-8"))
    tasks = {key: text for key, text in table.items() if text.strip().startswith("task:")}
    assert len(tasks) >= 5
    language = path.name.split(".")[-2]
    silent = [key for key, text in tasks.items() if not SAYS_SO[language].search(text)]
    assert not silent


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_prompt_has_its_translation(path):
    task, language, _ = path.name.rsplit(".", 2)
    other = {"en": "zh", "zh": "en"}[language]
    assert path.with_name(f"{task}.{other}.txt").is_file()
