"""Prompts of plugins: further languages, and what is wrong with them."""

import pytest

from knotwork._inference.prompt_files import PROMPTS, _read_own, fill_prompt, read_prompt
from knotwork._registry import Entry
from knotwork.errors import ConfigError

ROOM, TASK = "knotwork._retrieval.steps", "rewrite-question"


@pytest.fixture
def german(tmp_path, monkeypatch):
    """The folder of the prompts of a plugin for German."""
    folder = tmp_path / "german_prompts"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = Entry("de", "german_prompts", distribution="knotwork-german", version="1.0")
    monkeypatch.setitem(vars(PROMPTS), "_plugins", ({"de": entry}, {}))
    _read_own.cache_clear()
    yield folder
    _read_own.cache_clear()


def test_a_prompt_of_a_plugin_is_used_for_its_language(german):
    (german / f"{TASK}.de.txt").write_text("Formuliere um.\n---\nFrage: {material}\n")
    system, user = fill_prompt(ROOM, TASK, "de", {"material": "Wer {war} es?"})
    assert (system.content, user.content) == ("Formuliere um.", "Frage: Wer {war} es?")


def test_a_task_without_a_file_and_other_languages_have_the_english_prompt(german):
    english = read_prompt(ROOM, TASK, "en")
    assert read_prompt(ROOM, TASK, "de") == english
    assert read_prompt(ROOM, TASK, "fr") == english
    assert read_prompt(ROOM, TASK, "") == english
    assert read_prompt(ROOM, TASK, "zh") != english


@pytest.mark.parametrize("text", ["Ohne alles.\n---\nFrage", "A {material}\n---\n{unknown}"])
def test_a_prompt_with_other_placeholders_is_refused(german, text):
    (german / f"{TASK}.de.txt").write_text(text)
    with pytest.raises(ConfigError, match=r"`rewrite-question.de.txt` of knotwork-german 1.0 has"):
        read_prompt(ROOM, TASK, "de")
