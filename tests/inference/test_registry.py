import subprocess
import sys

import pytest

from knotwork._config import EmbeddingSettings, SecretRef
from knotwork._extensions.served_models.embeddings import OpenAIEmbedder
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._inference.model_registry import open_embedder
from knotwork.errors import ConfigError, MissingExtra, UnknownName


def test_none_is_no_embedder():
    assert open_embedder("none") is None


def test_each_scheme_opens_its_embedder():
    hashing = open_embedder("hashing:64")
    assert isinstance(hashing, HashingEmbedder)
    assert hashing.dimension == 64
    served = open_embedder(
        "openai:org/model:tag",
        EmbeddingSettings(
            base_url="http://localhost:1/v1", dimension=8, api_key=SecretRef("NOT_SET")
        ),
    )
    assert isinstance(served, OpenAIEmbedder)
    assert served.name == "openai:org/model:tag/8"
    assert served.dimension == 8


def test_unknown_names_say_which_are_valid():
    with pytest.raises(UnknownName, match=r"`locl:x`.*`local:…`.*`none`"):
        open_embedder("locl:x")
    with pytest.raises(ConfigError, match="has no name after its scheme"):
        open_embedder("local:")
    with pytest.raises(ConfigError, match="needs a dimension"):
        open_embedder("hashing:many")


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="`local`"):
        open_embedder("local:all-MiniLM-L6-v2")


def test_opening_the_local_model_loads_no_library():
    pytest.importorskip("sentence_transformers")
    code = (
        "import sys; from knotwork._inference.model_registry import open_embedder;"
        "e = open_embedder('local:all-MiniLM-L6-v2');"
        "assert e.name == 'local:all-MiniLM-L6-v2';"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
