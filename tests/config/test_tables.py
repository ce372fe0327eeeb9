"""Settings that are tables: headers and fields of requests, and the servers of roles."""

import pickle

import pytest

from knotwork._cli.session import parse_assignments
from knotwork._config import SecretRef, Settings, SettingTable, load_settings, render_config
from knotwork.errors import ConfigError, UnknownName


def load(tmp_path, text="", environ=None, overrides=None):
    file = tmp_path / "knotwork.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file=file, environ=environ or {}, overrides=overrides)


def test_a_table_is_constant_and_survives_the_file_and_a_pickle(tmp_path):
    text = """
    [llm]
    extra_headers = { x-team = "docs", api-key = { env = "AZURE_KEY" } }
    extra_body = { top_k = 5, deep = { on = true, list = [1, "a"] } }
    """
    settings = load(tmp_path, text).settings
    headers, body = settings.llm.extra_headers, settings.llm.extra_body
    assert headers == {"x-team": "docs", "api-key": SecretRef("AZURE_KEY")}
    assert body["deep"] == {"on": True, "list": [1, "a"]}
    assert hash(settings) == hash(pickle.loads(pickle.dumps(settings)))
    assert pickle.loads(pickle.dumps(SettingTable())) == {}
    assert load(tmp_path, render_config(settings)).settings.llm == settings.llm


@pytest.mark.parametrize(
    "text", ['{"top_k": 5, "deep": {"on": true}}', "{ top_k = 5, deep = { on = true } }"]
)
def test_a_variable_and_an_option_hold_json_or_toml(tmp_path, text):
    wanted = {"top_k": 5, "deep": {"on": True}}
    environ = {"KNOTWORK_LLM_EXTRA_BODY": text}
    assert load(tmp_path, environ=environ).settings.llm.extra_body == wanted
    options = parse_assignments([f"llm.extra_body={text}"])
    assert load(tmp_path, overrides=options).settings.llm.extra_body == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[llm]\nextra_body = "top_k"', "must be a table"),
        ("[llm]\nextra_body = [1]", "must be a table"),
        ("[llm]\nextra_body = { at = 2020-01-01 }", "valid as JSON"),
        ("[llm]\nextra_body = { x = nan }", "valid as JSON"),
        ('[llm]\nextra_headers = { api-key = "sk-very-secret" }', "looks like a secret"),
        ('[llm]\nextra_headers = { "x y" = "a" }', "not a valid name of a header"),
        ('[llm]\nextra_headers = { x = "a\\nHost: b" }', "a line of ASCII text"),
        ("[llm]\nextra_headers = { x = 5 }", "a line of ASCII text"),
        ("[llm]\nextract = 5", "the name of a model, or a table"),
        ("[llm.extract]\ntimeout_s = 0", "`llm.extract.timeout_s` is `0"),
        ('[llm.extract]\napi_key = "sk-very-secret"', "`llm.extract.api_key`"),
    ],
)
def test_invalid_tables_are_refused_without_showing_a_secret(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path, text)
    assert "sk-very-secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["tier", "judge", "base_ur"])
def test_a_role_has_settings_of_the_section_only(tmp_path, key):
    with pytest.raises(UnknownName, match=r"of `llm.extract`.*base_url"):
        load(tmp_path, f'[llm.extract]\n{key} = "x"')


def test_a_role_is_set_by_file_variable_and_option(tmp_path):
    text = """
    [llm]
    model = "openai:small"
    judge = "openai:large"
    [llm.extract]
    base_url = "http://localhost:1/v1"
    concurrency = 3
    """
    environ = {
        "KNOTWORK_LLM_EXTRACT_CONCURRENCY": "4",
        "KNOTWORK_LLM_EXTRACT_API_KEY": "sk-very-secret",
        "KNOTWORK_LLM_JUDGE_BASE_URL": "http://localhost:2/v1",
    }
    options = parse_assignments(["llm.extract.timeout_s=7", "llm.extract=openai:tiny"])
    loaded = load(tmp_path, text, environ, options)
    llm = loaded.settings.llm
    assert llm.extract == {
        "base_url": "http://localhost:1/v1",
        "concurrency": 4,
        "api_key": SecretRef("KNOTWORK_LLM_EXTRACT_API_KEY"),
        "timeout_s": 7.0,
        "model": "openai:tiny",
    }
    assert llm.judge == {"model": "openai:large", "base_url": "http://localhost:2/v1"}
    assert loaded.origins["llm.extract"] == "argument"
    shown = {name: value for name, value, _ in loaded.rows()}["llm.extract"]
    assert 'env = "KNOTWORK_LLM_EXTRACT_API_KEY"' in shown
    assert "sk-very-secret" not in str(loaded.described())
    assert load(tmp_path, render_config(loaded.settings)).settings.llm == llm


def test_no_table_is_the_default():
    assert Settings().llm.extra_body == {}
    assert Settings().llm.extract == ""
