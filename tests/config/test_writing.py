import re
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._config import (
    EmbeddingSettings,
    IndexSettings,
    SecretRef,
    Settings,
    load_settings,
    render_config,
    write_default_config,
)
from knotwork._config.settings import setting_fields
from knotwork.errors import ConfigError

pytestmark = pytest.mark.slow


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def test_the_default_file_holds_every_setting_as_a_comment(tmp_path):
    file = write_default_config(tmp_path / "knotwork.toml")
    text = file.read_text(encoding="utf-8")
    assert load_settings(file=file, environ={}).settings == Settings()
    assert set(tomllib.loads(text)) == {entry.section for entry in setting_fields()}
    for entry in setting_fields():
        assert f"\n# {entry.key} = " in text


def test_the_commented_lines_are_the_defaults(tmp_path):
    text = re.sub(r"\n(# (?:api_key|mirror_password))", r"\n#\1", render_config())
    file = tmp_path / "knotwork.toml"
    lines = [
        line[2:] if line.startswith("# ") and " = " in line else line for line in text.splitlines()
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    loaded = load_settings(file=file, environ={})
    default = Settings()
    assert loaded.settings == replace(
        default, store=replace(default.store, path=str(tmp_path / default.store.path))
    )
    assert sorted(set(loaded.origins.values())) == ["default", f"file {file}"]


def test_an_existing_file_is_kept(tmp_path):
    file = tmp_path / "knotwork.toml"
    file.write_text("# mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="already exists"):
        write_default_config(file)
    assert file.read_text(encoding="utf-8") == "# mine"
    write_default_config(file, overwrite=True)
    assert "[store]" in file.read_text(encoding="utf-8")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot be written"):
        write_default_config(tmp_path / "none" / "knotwork.toml")


@given(
    model=TEXT,
    dictionary=TEXT.map(lambda text: "scheme:" + text),
    include=st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    timeout_s=st.floats(0.1, 3600),
    dimension=st.integers(0, 65_536),
    download=st.booleans(),
    secret=st.none() | st.from_regex(r"[A-Z_][A-Z0-9_]{0,20}", fullmatch=True).map(SecretRef),
)
def test_any_settings_survive_the_file(
    tmp_path_factory, model, dictionary, include, timeout_s, dimension, download, secret
):
    wanted = Settings(
        embedding=EmbeddingSettings(
            model=model,
            download=download,
            api_key=secret,
            timeout_s=timeout_s,
            dimension=dimension,
        ),
        index=IndexSettings(dictionary=dictionary, include=tuple(include)),
    )
    file = tmp_path_factory.mktemp("config") / "knotwork.toml"
    file.write_text(render_config(wanted), encoding="utf-8", newline="\n")
    assert load_settings(file=file, environ={}).settings == wanted
