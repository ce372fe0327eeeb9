from pathlib import Path

import pytest

from knotwork._config import (
    EmbeddingSettings,
    IndexSettings,
    SecretRef,
    Settings,
    load_settings,
)
from knotwork._config.settings import setting_fields
from knotwork.errors import ConfigError, UnknownName


def write(folder: Path, text: str) -> Path:
    file = folder / "knotwork.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_defaults_come_from_the_dataclasses_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.file is None


def test_each_source_beats_the_one_below_it(tmp_path):
    file = write(tmp_path, "[retrieval]\nk = 2\nretriever = 'bm25'\n[index]\nchunk_tokens = 300\n")
    loaded = load_settings(
        file=file,
        environ={"KNOTWORK_RETRIEVAL_K": "3", "KNOTWORK_INDEX_CHUNK_TOKENS": "400"},
        overrides={"retrieval.k": 4, "index.splitter": None},
    )
    assert loaded.settings.retrieval.k == 4
    assert loaded.settings.index.chunk_tokens == 400
    assert loaded.settings.retrieval.retriever == "bm25"
    assert loaded.origins["retrieval.k"] == "argument"
    assert loaded.origins["index.chunk_tokens"] == "environment KNOTWORK_INDEX_CHUNK_TOKENS"
    assert loaded.origins["retrieval.retriever"] == f"file {file}"
    assert loaded.origins["index.splitter"] == "default"


def test_the_file_of_the_working_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "[retrieval]\nk = 7\n")
    loaded = load_settings(environ={})
    assert loaded.settings.retrieval.k == 7
    assert loaded.origins["retrieval.k"] == "file knotwork.toml"
    assert loaded.settings.store.path == "knowledge.knot"


def test_a_variable_may_name_the_file(tmp_path):
    file = write(tmp_path, "[retrieval]\nk = 7\n")
    assert load_settings(environ={"KNOTWORK_CONFIG": str(file)}).settings.retrieval.k == 7


def test_paths_in_a_file_are_relative_to_it(tmp_path):
    file = write(tmp_path, "[store]\npath = 'a/b.knot'\n[index]\ndictionary = 'names.txt'\n")
    settings = load_settings(file=file, environ={}).settings
    assert Path(settings.store.path) == tmp_path / "a" / "b.knot"
    assert Path(settings.index.dictionary) == tmp_path / "names.txt"
    given = load_settings(file=file, environ={}, overrides={"store.path": "c.knot"})
    assert given.settings.store.path == "c.knot"


@pytest.mark.parametrize("url", ["memory:", ":memory:", "postgresql://host/db"])
def test_urls_are_not_paths(tmp_path, url):
    file = write(tmp_path, f"[store]\npath = '{url}'\n")
    assert load_settings(file=file, environ={}).settings.store.path == url


@pytest.mark.parametrize(
    ("text", "name", "near"),
    [
        ("[retrievl]\nk = 1\n", "retrievl", "retrieval"),
        ("[index]\nchunk_token = 1\n", "chunk_token", "chunk_tokens"),
        ("k = 1\n", "k", None),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest(tmp_path, text, name, near):
    with pytest.raises(UnknownName) as caught:
        load_settings(file=write(tmp_path, text), environ={})
    assert f"`{name}`" in str(caught.value)
    assert "knotwork.toml" in str(caught.value)
    assert caught.value.fix == (f"Did you mean `{near}`?" if near else "")


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("*.md, b c/", ("*.md", "b c/")),
        ('["*.md", "a,b.txt"]', ("*.md", "a,b.txt")),
        ("[ab]*.md", ("[ab]*.md",)),
        ("", ()),
    ],
)
def test_a_list_is_split_at_commas_or_written_as_in_the_file(text, globs):
    loaded = load_settings(environ={"KNOTWORK_INDEX_EXCLUDE": text})
    assert loaded.settings.index.exclude == globs


def test_the_nearest_name_ignores_case_and_none_is_reported():
    near = UnknownName("entity", "Nump", nearest=["dumps", "NumPy"])
    assert near.fix == "Did you mean `NumPy`?"
    assert UnknownName("entity", "x").message == "Unknown entity `x`. No similar name found."


def test_unknown_variables_and_arguments_are_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean `KNOTWORK_RETRIEVAL_K`"):
        load_settings(environ={"KNOTWORK_RETRIEVL_K": "1"})
    with pytest.raises(UnknownName, match=r"Did you mean `retrieval\.k`"):
        load_settings(environ={}, overrides={"retrival.k": 3})


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("retrieval.k", 0, "from 1 to 1,000"),
        ("retrieval.k", "ten", "an integer"),
        ("retrieval.k", True, "an integer"),
        ("retrieval.k", 1.5, "an integer"),
        ("index.max_file_mb", float("nan"), "a finite number"),
        ("answer.abstain_below", 1.2, "from 0 to 1"),
        ("index.include", "*.md", "a list of strings"),
        ("index.include", ["*.md", 3], "a list of strings"),
        ("embedding.download", "true", "true or false"),
        ("store.path", 3, "a string"),
        ("store.path", " ", "not be empty"),
    ],
)
def test_wrong_values_name_value_rule_and_origin(name, value, part):
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={}, overrides={name: value})
    for wanted in (f"`{name}`", f"`{value}`", part, "(argument)"):
        assert wanted in str(caught.value)


def test_a_wrong_variable_is_named():
    with pytest.raises(ConfigError, match=r"`many` \(environment KNOTWORK_RETRIEVAL_K\)"):
        load_settings(environ={"KNOTWORK_RETRIEVAL_K": "many"})


def test_settings_that_contradict_each_other_are_refused():
    with pytest.raises(ConfigError, match=r"overlap_tokens.*`200`.*argument"):
        load_settings(environ={}, overrides={"index.overlap_tokens": 200})
    with pytest.raises(ConfigError, match=r"parent_tokens.*at least"):
        load_settings(environ={}, overrides={"index.parent_tokens": 100})


def test_variables_of_every_type():
    settings = load_settings(
        environ={
            "KNOTWORK_INDEX_INCLUDE": "*.md, docs/*.txt,",
            "KNOTWORK_EMBEDDING_DOWNLOAD": "Yes",
            "KNOTWORK_EMBEDDING_SENTENCES": "0",
            "KNOTWORK_INDEX_MAX_FILE_MB": "2",
            "HOME": "/nowhere",
        }
    ).settings
    assert settings.index.include == ("*.md", "docs/*.txt")
    assert settings.embedding.download is True
    assert settings.embedding.sentences is False
    assert settings.index.max_file_mb == 2.0


@pytest.mark.parametrize(
    ("content", "part"), [(b"[index", "not valid TOML"), (b"\xff\xfe", "not valid TOML")]
)
def test_broken_files_are_named(tmp_path, content, part):
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=part) as caught:
        load_settings(file=file, environ={})
    assert str(file) in str(caught.value)


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_settings(file=tmp_path / "none.toml", environ={})


def test_plain_secrets_are_refused_and_never_shown(tmp_path):
    file = write(tmp_path, "[embedding]\napi_key = 'sk-very-secret'\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file=file, environ={})
    assert "sk-very-secret" not in str(caught.value)
    assert "embedding.api_key" in str(caught.value)


def test_a_reference_is_kept_and_resolved_late(tmp_path):
    file = write(tmp_path, "[embedding]\napi_key = { env = 'KNOTWORK_MY_KEY' }\n")
    environ = {"KNOTWORK_MY_KEY": "sk-very-secret"}
    loaded = load_settings(file=file, environ=environ)
    secret = loaded.settings.embedding.api_key
    assert secret == SecretRef("KNOTWORK_MY_KEY")
    assert secret.reveal(environ) == "sk-very-secret"
    assert secret.is_set(environ)
    assert not secret.is_set({})
    with pytest.raises(ConfigError, match="`KNOTWORK_MY_KEY`"):
        secret.reveal({})
    shown = repr(loaded) + str(list(loaded.rows()))
    assert "sk-very-secret" not in shown
    assert ("embedding.api_key", '{ env = "KNOTWORK_MY_KEY" }', f"file {file}") in loaded.rows()


def test_the_own_variable_of_a_secret_holds_it():
    environ = {"KNOTWORK_EMBEDDING_API_KEY": "sk-very-secret"}
    loaded = load_settings(environ=environ)
    assert loaded.settings.embedding.api_key == SecretRef("KNOTWORK_EMBEDDING_API_KEY")
    assert "sk-very-secret" not in repr(loaded)


def test_rows_show_every_setting():
    loaded = load_settings(environ={}, overrides={"index.exclude": ["a", "b"]})
    rows = {name: (value, origin) for name, value, origin in loaded.rows()}
    assert list(rows) == [entry.name for entry in setting_fields()]
    assert rows["index.exclude"] == ("a, b", "argument")
    assert rows["embedding.download"] == ("false", "default")
    assert rows["embedding.api_key"] == ("", "default")


def test_every_setting_is_explained_and_in_range():
    for entry in setting_fields():
        assert entry.rule.explanation
        assert load_settings(environ={}, overrides={entry.name: entry.default})
    assert EmbeddingSettings().model == "auto"
    assert IndexSettings().splitter == "structure"
